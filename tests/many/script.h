// Several networks in one arena, told by words what to do; the same code on the host and in a firmware, whose text must be
// the same. Words are a verb and the number of a network, from 0:
//
//   init0 start0 set0 run0 step0 cancel0 reset0 close0   each prints the word, the code of its status and Where::bytes
//   out0                                                 prints the word and a checksum of all outputs
#pragma once
#include "linnet/model.h"

namespace linnet::test {

constexpr uint32_t most_networks = 4;

// A model or Program, and all its inputs one after the other.
struct NetworkBytes {
  Bytes file, inputs;
};

template <class Text>  // put_string, put_decimal, put_hex
class Script {
 public:
  Script(Span<uint8_t> memory, const BuildTable& table) : arena_(memory), table_(table) {}

  void give(uint32_t i, const NetworkBytes& network) { networks_[i].bytes = network; }

  // False if there is no such word or network.
  bool obey(const char* word) {
    uint32_t length = 0;
    while (word[length]) ++length;
    if (length < 2) return false;
    uint32_t i = static_cast<uint32_t>(word[length - 1] - '0');
    if (i >= most_networks || networks_[i].bytes.file.empty()) return false;
    Network& n = networks_[i];
    Interpreter& net = n.net;
    auto is = [&](const char* verb) {
      uint32_t k = 0;
      while (verb[k] && verb[k] == word[k]) ++k;
      return verb[k] == 0 && k == length - 1;
    };
    Text::put_string(word);
    if (is("out")) {
      Text::put_string(" ");
      Text::put_hex(checksum(net));
    } else {
      Status status;
      uint32_t bytes = 0;
      if (is("init")) status = init(n), bytes = net.where().bytes;
      else if (is("start")) status = net.start();
      else if (is("set")) status = set(n);
      else if (is("run")) status = net.run();
      else if (is("step")) (void)net.step(), status = net.status();
      else if (is("cancel")) net.cancel();
      else if (is("reset")) net.reset();
      else if (is("close")) net.close();
      else return false;
      Text::put_string(" ");
      Text::put_decimal(static_cast<uint32_t>(status.code()));
      Text::put_string(" ");
      Text::put_decimal(bytes);
    }
    Text::put_string("\n");
    return true;
  }

  const Interpreter& net(uint32_t i) const { return networks_[i].net; }
  const Arena& arena() const { return arena_; }

 private:
  struct Network {
    NetworkBytes bytes;
    Model model;
    Interpreter net;
  };

  Status init(Network& n) {
    if (header_of(n.bytes.file.data()).magic == program_magic) return n.net.init(n.bytes.file, *table_.kernels, arena_);
    Where where;
    LINNET_TRY(Model::open(n.bytes.file, n.model, where));
    return n.net.init(n.model, table_, arena_, BuildOptions());
  }

  static Status set(Network& n) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < n.net.input_count(); ++i) {
      Tensor input = n.net.input(i);
      if (input.bytes() > n.bytes.inputs.size() - at) return LINNET_ERROR(invalid_call, "too few inputs");
      __builtin_memcpy(input.template data<uint8_t>(), n.bytes.inputs.data() + at, input.bytes());
      at += input.bytes();
    }
    return {};
  }

  static uint32_t checksum(const Interpreter& net) {
    uint32_t hash = hash_seed;
    for (uint32_t i = 0; i < net.output_count(); ++i)
      for (uint32_t b = 0; b < net.output(i).bytes(); ++b) hash = (hash ^ net.output(i).template data<uint8_t>()[b]) * 16777619u;
    return hash;
  }

  Arena arena_;
  const BuildTable& table_;
  Network networks_[most_networks];
};

}  // namespace linnet::test
