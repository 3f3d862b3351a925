// AVERAGE_POOL_2D and MAX_POOL_2D on float32, int8 and int16, with fused activation (TFLite: reference AveragePool and
// MaxPool). Padding does not count: an average is over the inputs that are there.
#pragma once
#include "linnet/ops/activation.h"
#include "linnet/ops/window.h"

namespace linnet::ops::pool_2d {

template <class Bounds>
struct Params {
  int32_t batches, channels;
  WindowAxis y, x;
  Bounds bounds;

  Extents4 input() const { return {{batches, y.input, x.input, channels}}; }
  Extents4 output() const { return {{batches, y.output, x.output, channels}}; }
};

// How the elements of a window are combined.
template <class T>
struct Average {
  using Sum = int32_t;
  static constexpr Sum start = 0;
  static Sum add(Sum sum, T x) { return wrapping_add(sum, x); }
  // To the nearest, halves away from zero.
  static T finish(Sum sum, int32_t count, const IntBounds& b) {
    Sum half = sum > 0 ? count / 2 : -(count / 2);
    return static_cast<T>(clamp(wrapping_add(sum, half) / count, b.low, b.high));
  }
};
template <>
struct Average<float> {
  using Sum = float;
  static constexpr Sum start = 0;
  static Sum add(Sum sum, float x) { return sum + x; }
  static float finish(Sum sum, int32_t count, const FloatBounds& b) { return b.clamp(sum / static_cast<float>(count)); }
};
template <class T>
struct Maximum {
  using Sum = int32_t;
  static constexpr Sum start = limits<T>::lowest;
  static Sum add(Sum sum, T x) { return max_of(sum, x); }
  static T finish(Sum sum, int32_t, const IntBounds& b) { return static_cast<T>(clamp(sum, b.low, b.high)); }
};
template <>
struct Maximum<float> {
  using Sum = float;
  static constexpr Sum start = -3.402823466e38f;
  static Sum add(Sum sum, float x) { return x > sum ? x : sum; }
  static float finish(Sum sum, int32_t, const FloatBounds& b) { return b.clamp(sum); }
};

template <class T>
struct BoundsOf { using type = IntBounds; };
template <>
struct BoundsOf<float> { using type = FloatBounds; };

inline bool check_pool(const Extents4& input, const Extents4& output, const WindowAxis& y, const WindowAxis& x, Extent* extents,
                       int operands, uint8_t bytes) {
  uint32_t in, out;
  if (operands != 2 || !is_valid(y) || !is_valid(x) || !input.count(in) || !output.count(out)) return false;
  extents[0] = {extent_bytes(in, bytes), bytes};
  extents[1] = {extent_bytes(out, bytes), bytes, true};
  return true;
}

template <class T, class F>
struct Pool {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels;
  using Params = pool_2d::Params<typename BoundsOf<T>::type>;

  static bool check(const Params& p, Extent* extents, int operands) {
    return check_pool(p.input(), p.output(), p.y, p.x, extents, operands, sizeof(T));
  }
  static void whole(const Params& p, Block& block, View* views) {
    block.out = p.output().box();
    views[0] = p.input().view();
    views[1] = p.output().view();
  }
  static Box window(const Params& p, int operand, const Block& block) {
    Box box = block.out;
    if (operand != 0 || is_empty(box)) return box;
    const WindowAxis* axes[] = {&p.y, &p.x};
    for (int i = 0; i < 2; ++i) {
      Range range = input_range(*axes[i], {block.out.lo[1 + i], block.out.hi[1 + i]}, {0, axes[i]->filter});
      box.lo[1 + i] = range.lo;
      box.hi[1 + i] = range.hi;
    }
    return box;
  }
  static Cost cost(const Params& p) {
    return {0, static_cast<uint64_t>(p.output().elements()) * p.y.filter * p.x.filter};
  }
  static Lag lag(const Params& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    constexpr auto size = static_cast<int32_t>(sizeof(T));
    int32_t pixel = p.channels * size;
    return WindowLag{p.y, p.x, p.batches, pixel, pixel, size, pixel - size}.lag();
  }
  static void run(const Call& call, const Params& p) {
    TensorView<const T> in = call.in<T>(0);
    TensorView<T> out = call.out<T>(1);
    const Box& box = call.block.out;
    bool up = call.direction == Direction::up;
    int32_t channels = box.hi[axis_c] - box.lo[axis_c], pixel = in.view->stride[axis_x];
    for_each_row(box, call.direction, [&](int32_t b, int32_t oy, int32_t ox) {
      int32_t iy, ix;
      Range rows = inside_taps(p.y, oy, {0, p.y.filter}, iy), columns = inside_taps(p.x, ox, {0, p.x.filter}, ix);
      int32_t width = columns.count(), height = width == 0 ? 0 : rows.count();  // else the coordinates may be anywhere
      int32_t count = max_of(height * width, 1);
      T* to = out.at(b, oy, ox, box.lo[axis_c]);
      for (int32_t i = 0; i < channels; ++i) {
        int32_t c = up ? i : channels - 1 - i;
        auto sum = F::start;
        for (int32_t y = 0; y < height; ++y) {
          const T* from = in.at(b, iy + y, ix, box.lo[axis_c] + c);
          for (int32_t x = 0; x < width; ++x, from += pixel) sum = F::add(sum, *from);
        }
        to[c] = F::finish(sum, count, p.bounds);
      }
    });
  }
};

struct AverageFloat : Pool<float, Average<float>> {
  using Computation = AverageFloat;
  static constexpr const char* name = "average_pool_2d.float32";
  static constexpr uint32_t params_version = 1;
};
struct MaxFloat : Pool<float, Maximum<float>> {
  using Computation = MaxFloat;
  static constexpr const char* name = "max_pool_2d.float32";
  static constexpr uint32_t params_version = 1;
};
template <class T>
struct AverageInt : Pool<T, Average<T>> {
  using Computation = AverageInt;
  static constexpr const char* name = sizeof(T) == 1 ? "average_pool_2d.int8" : "average_pool_2d.int16";
  static constexpr uint32_t params_version = 1;
};
template <class T>
struct MaxInt : Pool<T, Maximum<T>> {
  using Computation = MaxInt;
  static constexpr const char* name = sizeof(T) == 1 ? "max_pool_2d.int8" : "max_pool_2d.int16";
  static constexpr uint32_t params_version = 1;
};

// Fields of schema: Pool2DOptions.
inline bool geometry(const Node& node, Extents4& e, WindowAxis& y, WindowAxis& x) {
  Table options = node.options();
  e = fold(node.input(0).dims);
  auto padding = options.get<int8_t>(0, 0);
  return make_axis(y, padding, e.d[1], options.get<int32_t>(4, 0), options.get<int32_t>(2, 0), 1) &&
         make_axis(x, padding, e.d[2], options.get<int32_t>(3, 0), options.get<int32_t>(1, 0), 1) && is_valid(y) && is_valid(x);
}
inline int8_t activation_of(const Node& node) { return node.options().get<int8_t>(5, 0); }

inline Status infer_pool(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0);
  if (!in.present() || !out.present() || in.rank() != 4 || out.rank() != 4)
    return LINNET_ERROR(unsupported, "pooling needs an input and an output of 4 dimensions");
  Extents4 e;
  WindowAxis y, x;
  if (!geometry(node, e, y, x)) return LINNET_ERROR(malformed, "the pooling window's size, stride or padding makes no sense");
  if (out.dims[0] != e.d[0] || out.dims[1] != y.output || out.dims[2] != x.output || out.dims[3] != e.d[3])
    return LINNET_ERROR(malformed, "pooling's output has another shape than its input and window give");
  if (!is_clamp(activation_of(node))) return LINNET_ERROR(unsupported, "the fused activation is none of RELU, RELU_N1_TO_1 and RELU6");
  return {};
}

template <uint16_t code, class C>
struct FloatOperator {
  static constexpr uint16_t builtin_code = code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_pool(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    typename C::Params p;
    Extents4 e;
    geometry(node, e, p.y, p.x);
    p.batches = e.d[0];
    p.channels = e.d[3];
    p.bounds = float_bounds(activation_of(node));
    return emitter.run<C>(p, {emitter.in(0), emitter.out(0)});
  }
};

template <uint16_t code, class T, class C>
struct IntOperator {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {type, Type::none, type};
  static Status infer(const Node& node) {
    LINNET_TRY(infer_pool(node));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_quantized(in) || !is_quantized(out) || !is_zero_point<T>(out.zero_point()))
      return LINNET_ERROR(unsupported, "pooling needs one scale and a zero point within the type for its input and output");
    float difference = in.scale() - out.scale();
    if (in.zero_point() != out.zero_point() || difference > 1e-6f || difference < -1e-6f)
      return LINNET_ERROR(unsupported, "pooling's input and output must have the same scale and zero point");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    typename C::Params p;
    Extents4 e;
    geometry(node, e, p.y, p.x);
    p.batches = e.d[0];
    p.channels = e.d[3];
    p.bounds = int_bounds<T>(activation_of(node), node.output(0));
    return emitter.run<C>(p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<FloatOperator<1, AverageFloat>, FloatOperator<17, MaxFloat>, IntOperator<1, int8_t, AverageInt<int8_t>>,
                       IntOperator<17, int8_t, MaxInt<int8_t>>, IntOperator<1, int16_t, AverageInt<int16_t>>,
                       IntOperator<17, int16_t, MaxInt<int16_t>>>;
using Kernels = List<AverageFloat, MaxFloat, AverageInt<int8_t>, MaxInt<int8_t>, AverageInt<int16_t>, MaxInt<int16_t>>;

}  // namespace linnet::ops::pool_2d
