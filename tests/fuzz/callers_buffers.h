// Memory for the inputs and outputs that a caller owns: one piece each, of exactly the tensor's size, aligned to the tensor's
// elements and no more, as `bind_input` and `bind_output` ask for.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "linnet/engine/interpreter.h"
#include "tests/fuzz/watched_memory.h"

namespace linnet::fuzz {

class CallersBuffers {
 public:
  explicit CallersBuffers(size_t largest) : largest_(largest) {}

  // False if the network asks for more than there is. Tensors in the arena stay there.
  bool bind(Interpreter& net) {
    used_ = 0;
    for (uint32_t i = 0; i < net.input_count(); ++i) {
      uint8_t* data = piece(net.input(i));
      if (!data) return false;
      (void)net.bind_input(i, data, net.input(i).bytes());
    }
    for (uint32_t i = 0; i < net.output_count(); ++i) {
      uint8_t* data = piece(net.output(i));
      if (!data) return false;
      (void)net.bind_output(i, data, net.output(i).bytes());
    }
    return true;
  }

 private:
  static constexpr size_t most = 2 * max_caller_regions, widest_element = 16;

  uint8_t* piece(const Tensor& tensor) {
    if (tensor.bytes() > largest_ || used_ == most) return nullptr;
    if (used_ == pieces_.size()) pieces_.push_back(std::make_unique<WatchedMemory>(largest_ + widest_element));
    size_t element = std::max(element_bytes(tensor.type()), 1u);
    return pieces_[used_++]->open(element + tensor.bytes()).data() + element;
  }

  size_t largest_, used_ = 0;
  std::vector<std::unique_ptr<WatchedMemory>> pieces_;
};

}  // namespace linnet::fuzz
