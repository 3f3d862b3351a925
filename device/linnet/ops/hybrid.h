// Float activations with int8 weights, as TensorFlow Lite's hybrid kernels compute them: each batch of the input is quantised
// with the scale that its own range gives, then integers are summed, then the sums are scaled back to floats.
//
// Two steps per node, joined by scratch: QuantizeBatches, then the operator's loops with HybridSums. The rounding of each
// float and double operation is the reference's (PortableSymmetricQuantizeFloats, PortableAsymmetricQuantizeFloats,
// HybridConvPerChannel): one that differs would flip an int8 activation. Doubles are computed in integers.
#pragma once
#include "linnet/ops/sums.h"

namespace linnet::ops::hybrid {

// a / b in one rounding, b not 0: one bit of the quotient at a time, as this happens once per batch.
inline Real quotient(Real a, Real b) {
  uint64_t remainder = a.mantissa, q = 0;
  for (int i = 0; i < 56; ++i) {
    q <<= 1;
    if (remainder >= b.mantissa) {
      remainder -= b.mantissa;
      q |= 1;
    }
    remainder <<= 1;
  }
  return linnet::detail::round_real(q, a.exponent - b.exponent - 55, 53, remainder != 0);
}

// a * 2^46 as an integer, to nearest even: the grid of doubles between 64 and 128, on which zero points are computed.
constexpr int grid_bits = 46;
inline int64_t to_grid(Real a) {
  int32_t drop = -(a.exponent + grid_bits);
  if (a.mantissa == 0 || drop > 54) return 0;
  if (drop <= 0) return static_cast<int64_t>(a.mantissa << -drop);
  uint64_t rest = a.mantissa & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1), n = a.mantissa >> drop;
  return static_cast<int64_t>(n + (rest > half || (rest == half && (n & 1) != 0) ? 1 : 0));
}

struct BatchScale {
  float scale;
  int32_t zero_point;
};

// The quantisation to int8 of numbers from `low` <= 0 to `high` >= 0, not both 0.
inline BatchScale choose_scale(float low, float high) {
  Real least = real(low), most = real(high), scale = divide(high - low, 255.0f);
  int64_t below = to_grid(quotient(least, scale)), above = to_grid(quotient(most, scale)), one = int64_t{1} << grid_bits;
  int64_t zero = below + one < above ? below - 128 * one : 127 * one - above;
  int64_t rounded = ((zero < 0 ? -zero : zero) + one / 2) >> grid_bits;  // halves away from zero
  return {to_float(scale), clamp(static_cast<int32_t>(zero < 0 ? -rounded : rounded), -128, 127)};
}

struct QuantizeParams {
  int32_t batches, size;  // numbers of a batch
  int32_t asymmetric;     // 0: scale from the largest magnitude, zero point 0
};

// Operands: input (b, 1, 1, size), quantised (the same), scales (b, 1, 1, 1), zero points (b, 1, 1, 1).
struct QuantizeBatches {
  using Computation = QuantizeBatches;
  using Params = QuantizeParams;
  static constexpr const char* set = "reference";
  static constexpr const char* name = "hybrid.quantize_batches";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch;

  static bool check(const Params& p, Extent* extents, int operands) {
    uint32_t elements;
    if (operands != 4 || !product(elements, p.batches, p.size)) return false;
    uint32_t batch_bytes = extent_bytes(static_cast<uint32_t>(p.batches), 4);
    extents[0] = {extent_bytes(elements, 4), 4};
    extents[1] = {elements, 1, true};
    extents[2] = extents[3] = {batch_bytes, 4, true};
    return true;
  }
  static void whole(const Params& p, Block& block, View* views) {
    block.out = whole_box(p.batches, 1, 1, p.size);
    views[0] = views[1] = dense_view(1, 1, p.size);
    views[2] = views[3] = dense_view(1, 1, 1);
  }
  static Box window(const Params&, int operand, const Block& block) {
    Box box = block.out;
    if (operand >= 2) box.hi[axis_c] = 1;
    return box;
  }
  static Cost cost(const Params& p) { return {0, static_cast<uint64_t>(p.batches * p.size) * 2}; }
  static Lag lag(const Params&, int, int) { return {}; }

  static void run(const Call& call, const Params& p) {
    auto in = call.in<float>(0);
    auto out = call.out<int8_t>(1);
    for (int32_t b = call.block.out.lo[axis_b]; b < call.block.out.hi[axis_b]; ++b) {
      const float* from = in.at(b, 0, 0, 0);
      float low = 0, high = 0;
      for (int32_t i = 0; i < p.size; ++i) {
        low = from[i] < low ? from[i] : low;
        high = from[i] > high ? from[i] : high;
      }
      BatchScale q = {1.0f, 0};
      float inverse = 0;
      int32_t least = -127;
      if (low != high) {
        if (p.asymmetric != 0) {
          q = choose_scale(low, high);
          inverse = 1.0f / q.scale;
          least = -128;
        } else {
          float range = -low > high ? -low : high;
          q.scale = range / 127.0f;
          inverse = 127.0f / range;
        }
      }
      quantize(from, out.at(b, 0, 0, 0), p.size, inverse, q.zero_point, least);
      *call.out<float>(2).at(b, 0, 0, 0) = q.scale;
      *call.out<int32_t>(3).at(b, 0, 0, 0) = q.zero_point;
    }
  }

 private:
  static void quantize(const float* from, int8_t* to, int32_t n, float inverse, int32_t zero_point, int32_t least) {
    for (int32_t i = 0; i < n; ++i) {
      float x = static_cast<float>(zero_point) + from[i] * inverse;
      x = x < 128.0f ? (x > -129.0f ? x : -129.0f) : 128.0f;  // also what is not a number
      int32_t whole = static_cast<int32_t>(x);
      float rest = x - static_cast<float>(whole);
      whole += rest >= 0.5f ? 1 : rest <= -0.5f ? -1 : 0;
      to[i] = static_cast<int8_t>(clamp(whole, least, 127));
    }
  }
};

struct SumParams {
  FloatBounds bounds;
  int32_t channel_mask;        // of the index into the filter's scales: -1, one per channel; 0, one for all
  int32_t filter_scale_first;  // (sum * filter scale) * input scale rather than sum * (filter scale * input scale)
};

// Own operands: the batches' scales and zero points, the filter's scales.
struct HybridSums {
  using Input = int8_t;
  using Weight = int8_t;
  using Bias = float;
  using Accumulator = int32_t;
  using Output = float;
  using Params = SumParams;
  static constexpr int own_operands = 3;
  static constexpr Splits reduction = split_reduction;

  HybridSums(const Call& call, const Params& p)
      : params_(p), bias_(call.in<float>(sum_bias)), scales_(call.in<float>(sum_own)), zero_points_(call.in<int32_t>(sum_own + 1)),
        filter_scales_(call.in<float>(sum_own + 2)) {}
  void start_batch(int32_t b) {
    zero_point_ = *zero_points_.at(b, 0, 0, 0);
    scale_ = *scales_.at(b, 0, 0, 0);
  }
  void add(int32_t& sum, int8_t x, int8_t w) const { sum = wrapping_add(sum, wrapping_mul(wrapping_sub(x, zero_point_), w)); }
  float finish(int32_t sum, int32_t c) const {
    float filter_scale = filter_scales_.data[(c - filter_scales_.view->origin[axis_c]) & params_.channel_mask];
    float y = static_cast<float>(sum);
    y = params_.filter_scale_first != 0 ? y * filter_scale * scale_ : y * (filter_scale * scale_);
    return params_.bounds.clamp(bias_.data ? y + *bias_.channel(c) : y);
  }

  static bool check(const Params& p, Extent* own, int32_t batches, int32_t channels) {
    own[0] = own[1] = {extent_bytes(static_cast<uint32_t>(batches), 4), 4};
    own[2] = {extent_bytes(p.channel_mask == 0 ? 1 : static_cast<uint32_t>(channels), 4), 4};
    return p.channel_mask == 0 || p.channel_mask == -1;
  }
  static void whole(const Params&, View* own, int32_t channels) {
    own[0] = own[1] = dense_view(1, 1, 1);
    own[2] = dense_view(1, 1, channels);
  }
  static Box window(const Params& p, int operand, const Block& block) {
    Box box = whole_box(1, 1, 1, 1);
    int axis = operand < 2 ? axis_b : axis_c;
    if (operand < 2 || p.channel_mask != 0) box.lo[axis] = block.out.lo[axis], box.hi[axis] = block.out.hi[axis];
    return box;
  }

 private:
  const Params& params_;
  TensorView<const float> bias_, scales_;
  TensorView<const int32_t> zero_points_;
  TensorView<const float> filter_scales_;
  int32_t zero_point_ = 0;
  float scale_ = 0;
};

// Emits the first step for the node's input and then the second, C on `params`.
template <class C>
Status lower(const Node& node, Emitter& emitter, typename C::Params p, int8_t activation, int32_t batches, bool asymmetric,
             bool filter_scale_first) {
  TensorInfo in = node.input(0), filter = node.input(1);
  uint32_t n = static_cast<uint32_t>(filter.scales.size()), elements = static_cast<uint32_t>(in.elements());
  p.sums = {float_bounds(activation), n > 1 ? -1 : 0, filter_scale_first ? 1 : 0};
  float* scales;
  Ref filter_scales = emitter.array(n, &scales);
  for (uint32_t i = 0; scales && i < n; ++i) scales[i] = filter.scales[i];
  Ref quantized = emitter.scratch(elements);
  Ref batch_scales = emitter.scratch(static_cast<uint32_t>(batches) * 4), zero_points = emitter.scratch(static_cast<uint32_t>(batches) * 4);
  QuantizeParams q = {batches, in.elements() / batches, asymmetric ? 1 : 0};
  LINNET_TRY(emitter.run<QuantizeBatches>(q, {emitter.in(0), quantized, batch_scales, zero_points}));
  return emitter.run<C>(p, {quantized, emitter.in(1), emitter.in(2), emitter.out(0), Ref{}, batch_scales, zero_points, filter_scales});
}

using Operators = List<>;
using Kernels = List<QuantizeBatches>;

}  // namespace linnet::ops::hybrid
