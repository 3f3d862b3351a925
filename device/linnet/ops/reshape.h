// RESHAPE: the same bytes under another shape. Emits no step where output and input may share memory.
#pragma once
#include "linnet/ops/op.h"

namespace linnet::ops::reshape {

struct Reshape {
  static constexpr uint16_t builtin_code = 22;
  static constexpr int32_t max_version = 1;
  static constexpr TypeSignature types = {Type::none, Type::none, Type::none};

  // The output's own shape counts; the shape tensor and the option only repeat it.
  static Status infer(const Node& node) {
    TensorInfo in = node.input(0), out = node.output(0);
    if (!in.present() || !out.present() || element_bytes(in.type) == 0)
      return LINNET_ERROR(unsupported, "RESHAPE needs an input and an output of a type of fixed size");
    if (in.type != out.type || in.elements() != out.elements())
      return LINNET_ERROR(malformed, "RESHAPE's input and output differ in type or in number of elements");
    return {};
  }
  static Status lower(const Node&, Emitter& emitter) { return emitter.alias(0, 0); }
};

using Operators = List<Reshape>;
using Kernels = List<>;

}  // namespace linnet::ops::reshape
