// Pools, means, and what moves elements.
#include <algorithm>
#include <numeric>

#include "tests/differential/case_maker.h"

namespace linnet::differential {
namespace {

using graph::Activation;
using graph::Padding;
using graph::SliceSpec;

const std::vector<Type> activations = {Type::float32, Type::int8, Type::int16};
const std::vector<Type> movable = {Type::int8, Type::int16, Type::float32, Type::int32, Type::int64, Type::uint8, Type::boolean};

void pool(CaseMaker& c, Type type, bool average) {
  graph::PoolSpec spec;
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 9), c.draw.range(1, 9), c.draw.range(1, 9)};
  spec.padding = c.draw.maybe() ? Padding::valid : Padding::same;
  for (size_t i = 0; i < 2; ++i) {
    spec.kernel[i] = c.draw.range(1, spec.padding == Padding::valid ? std::min(5, static_cast<int>(in[i + 1])) : 5);
    spec.stride[i] = c.draw.range(1, 4);
  }
  spec.activation = c.draw.among({Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1});
  int x = c.input(type, in, c.quantization(type));
  c.n.output(average ? c.n.average_pool_2d(x, spec) : c.n.max_pool_2d(x, spec));
}

std::vector<int32_t> some_axes(CaseMaker& c, int rank) {
  std::vector<int32_t> axes;
  for (int i = 0; i < rank; ++i)
    if (c.draw.maybe()) axes.push_back(c.draw.seldom() ? i - rank : i);
  if (axes.empty()) axes.push_back(rank - 1);
  if (c.draw.seldom()) std::reverse(axes.begin(), axes.end());
  return axes;
}

void mean(CaseMaker& c, Type type) {
  Shape in = c.shape_of_any_rank();
  Quantization q = c.quantization(type), out = q;
  if (is_quantized(type) && c.draw.maybe()) out = c.scaled(type, q.scales[0] * c.draw.among({1.0f, 0.7f, 0.1f, 2.3f}));
  std::vector<int32_t> axes = some_axes(c, static_cast<int>(in.size()));
  bool keep = c.draw.maybe();
  c.n.output(c.n.mean(c.input(type, in, q), axes, keep, out));
}

void pad(CaseMaker& c, Type type, bool with_value) {
  Shape in = c.shape_of_any_rank(4, 5);
  std::vector<std::array<int32_t, 2>> around;
  for (size_t i = 0; i < in.size(); ++i) {
    int before = c.draw.range(0, 3), after = c.draw.range(0, 3);
    around.push_back({before, after});
  }
  Quantization q = c.quantization(type);
  int y = c.n.pad(c.input(type, in, q), around);
  if (with_value) {
    int value = c.constant(type, {1}, q);
    c.n.last_operator().code = 60;  // PADV2
    c.n.last_operator().inputs.push_back(value);
  }
  c.n.output(y);
}

void concatenation(CaseMaker& c, Type type) {
  Shape base = c.shape_of_any_rank(4, 5);
  int rank = static_cast<int>(base.size()), axis = c.draw.range(0, rank - 1);
  Quantization q = c.quantization(type);
  std::vector<int> parts;
  for (int i = 0, count = c.draw.range(1, 4); i < count; ++i) {
    Shape part = base;
    part[static_cast<size_t>(axis)] = c.draw.range(1, 5);
    parts.push_back(i == 0 ? c.input(type, part, q) : c.input_or_constant(type, part, q));
  }
  c.n.output(c.n.concatenation(parts, c.draw.maybe() ? axis - rank : axis));
}

void reshape(CaseMaker& c, Type type) {
  Shape in = c.shape_of_any_rank(), out = in;
  int32_t count = std::accumulate(in.begin(), in.end(), 1, std::multiplies<>());
  switch (c.draw.range(0, 3)) {
    case 0: out = {count}; break;
    case 1: std::reverse(out.begin(), out.end()); break;
    case 2: out.insert(out.begin() + c.draw.range(0, static_cast<int>(out.size())), 1); break;
    default: out = {1, count, 1}; break;
  }
  if (c.draw.maybe()) out[static_cast<size_t>(c.draw.range(0, static_cast<int>(out.size()) - 1))] = -1;
  c.n.output(c.n.reshape(c.input(type, in, c.quantization(type)), out));
}

void transpose(CaseMaker& c, Type type) {
  Shape in = c.shape_of_any_rank(5, 5);
  std::vector<int32_t> permutation(in.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  for (size_t i = permutation.size(); i > 1; --i) std::swap(permutation[i - 1], permutation[i - 1 - static_cast<size_t>(c.draw.range(0, static_cast<int>(i) - 1))]);
  c.n.output(c.n.transpose(c.input(type, in, c.quantization(type)), permutation));
}

void strided_slice(CaseMaker& c, Type type) {
  Shape in = c.shape_of_any_rank(5, 6);
  SliceSpec spec;
  for (size_t i = 0; i < in.size(); ++i) {
    int size = in[i], step = c.draw.among({1, 2, -1, 3, -2}), first = c.draw.range(0, size - 1);
    int count = 1 + c.draw.range(0, step > 0 ? (size - 1 - first) / step : first / -step);
    int end = first + count * step;
    if (step > 0 && c.draw.maybe()) end = std::min(end, size);
    bool open = step < 0 && end < 0;  // what -1 means must be said by a mask
    bool from_end = first > 0 && c.draw.maybe();
    spec.begin.push_back(from_end ? first - size : first);
    spec.end.push_back(open ? -size - 1 : end);
    spec.strides.push_back(step);
    if (first == (step > 0 ? 0 : size - 1) && c.draw.maybe()) spec.begin_mask |= 1 << i;
    if (c.draw.seldom()) spec.end_mask |= 1 << i;
    if (step == 1 && !(spec.begin_mask >> i & 1) && c.draw.seldom()) spec.shrink_axis_mask |= 1 << i;
  }
  c.n.output(c.n.strided_slice(c.input(type, in, c.quantization(type)), spec));
}

}  // namespace

void add_shapes(Families& families) {
  auto add = [&](const std::string& name, const std::vector<Type>& types, const std::function<void(CaseMaker&, Type)>& make) {
    for (Type type : types) families.push_back({name + "." + type_name(type), [=](CaseMaker& c) { make(c, type); }});
  };
  std::vector<Type> padded = {Type::float32, Type::int8, Type::int16, Type::int32, Type::uint8};
  add("average_pool_2d", activations, [](CaseMaker& c, Type type) { pool(c, type, true); });
  add("max_pool_2d", activations, [](CaseMaker& c, Type type) { pool(c, type, false); });
  add("mean", activations, mean);
  add("pad", padded, [](CaseMaker& c, Type type) { pad(c, type, false); });
  add("pad_v2", padded, [](CaseMaker& c, Type type) { pad(c, type, true); });
  add("concatenation", movable, concatenation);
  add("reshape", movable, reshape);
  add("transpose", movable, transpose);
  add("strided_slice", movable, strided_slice);
}

}  // namespace linnet::differential
