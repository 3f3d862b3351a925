// What convolutions and FULLY_CONNECTED make of sums of products, per combination of types: how a product is added, and how
// a finished sum becomes an output. The loops over windows and channels are the operators' own.
//
// Operands of all their computations:
//   0 input, 1 filter, 2 bias (optional), 3 output, 4 accumulators (optional, shape of the output), 5.. the sums' own
#pragma once
#include "linnet/ops/activation.h"

namespace linnet::ops {

enum SumOperand : int { sum_input = 0, sum_filter = 1, sum_bias = 2, sum_output = 3, sum_accumulator = 4, sum_own = 5 };

// x times the multiplier that stands for a ratio of scales. `shift` is clamped to what can be shifted by, as arrays of
// shifts in a Program are as hostile as the rest of it. Not inlined: called once per output, by several kernels.
__attribute__((noinline)) inline int32_t scale_sum(int32_t sum, int32_t multiplier, int32_t shift) {
  return multiply_by_quantized_multiplier(sum, multiplier, clamp(shift, -31, 31));
}
__attribute__((noinline)) inline int32_t scale_sum(int64_t sum, int32_t multiplier, int32_t shift) {
  return multiply_by_quantized_multiplier(sum, multiplier, clamp(shift, -31, 14));
}

// Not inlined: `whole` of every convolution sets half a dozen.
__attribute__((noinline)) inline void set_dense(View& view, int32_t rows, int32_t columns, int32_t channels) {
  view = dense_view(rows, columns, channels);
}

constexpr int32_t wrapping_sum(int32_t a, int32_t b) { return wrapping_add(a, b); }
constexpr int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// ---- float32 ----------------------------------------------------------------------------------------------------------

struct FloatSums {
  using Input = float;
  using Weight = float;
  using Bias = float;
  using Accumulator = float;
  using Output = float;
  using Params = FloatBounds;
  static constexpr int own_operands = 0;
  static constexpr Splits reduction = split_reduction_in_order;

  FloatSums(const Call& call, const Params& p) : bounds_(p), bias_(call.in<float>(sum_bias)) {}
  void start_batch(int32_t) {}
  void add(float& sum, float x, float w) const { sum += x * w; }
  float finish(float sum, int32_t c) const { return bounds_.clamp(sum + (bias_.data ? *bias_.channel(c) : 0.0f)); }

  static bool check(const Params&, Extent*, int32_t, int32_t) { return true; }
  static void whole(const Params&, View*, int32_t) {}
  static Box window(const Params&, int, const Block&) { return {}; }

 private:
  FloatBounds bounds_;
  TensorView<const float> bias_;
};

// ---- int8 or int16 activations, int8 weights --------------------------------------------------------------------------

struct QuantizedSumParams {
  int16_t input_zero_point, output_zero_point;
  IntBounds bounds;
  int32_t channel_mask;  // of the index into multipliers and shifts: -1, one per channel; 0, one for all
};

// Own operands: multipliers (int32), shifts (int8). A: int32_t, or int64_t for int16 activations with a bias of 64 bits.
template <class T, class A>
struct QuantizedSums {
  using Input = T;
  using Weight = int8_t;
  using Bias = A;
  using Accumulator = A;
  using Output = T;
  using Params = QuantizedSumParams;
  static constexpr int own_operands = 2;
  static constexpr Splits reduction = split_reduction;

  QuantizedSums(const Call& call, const Params& p)
      : params_(p), bias_(call.in<A>(sum_bias)), multipliers_(call.in<int32_t>(sum_own)), shifts_(call.in<int8_t>(sum_own + 1)) {}
  void start_batch(int32_t) {}
  void add(A& sum, T x, int8_t w) const {
    sum = wrapping_sum(sum, A{(x - (sizeof(T) == 1 ? params_.input_zero_point : 0)) * w});
  }
  __attribute__((noinline)) T finish(A sum, int32_t c) const {
    if (bias_.data) sum = wrapping_sum(sum, load(bias_.channel(c)));
    int32_t i = (c - multipliers_.view->origin[axis_c]) & params_.channel_mask;
    int32_t scaled = wrapping_add(scale_sum(sum, multipliers_.data[i], shifts_.data[i]), params_.output_zero_point);
    return static_cast<T>(clamp(scaled, params_.bounds.low, params_.bounds.high));
  }

  static bool check(const Params& p, Extent* own, int32_t, int32_t channels) {
    uint32_t n = p.channel_mask == 0 ? 1 : static_cast<uint32_t>(channels);
    own[0] = {extent_bytes(n, 4), 4};
    own[1] = {n, 1};
    return p.channel_mask == 0 || p.channel_mask == -1;
  }
  static void whole(const Params&, View* own, int32_t channels) {
    set_dense(own[0], 1, 1, channels);
    set_dense(own[1], 1, 1, channels);
  }
  static Box window(const Params& p, int, const Block& block) {
    Box box = whole_box(1, 1, 1, 1);
    if (p.channel_mask != 0) box.lo[axis_c] = block.out.lo[axis_c], box.hi[axis_c] = block.out.hi[axis_c];
    return box;
  }

 private:
  const Params& params_;
  TensorView<const A> bias_;
  TensorView<const int32_t> multipliers_;
  TensorView<const int8_t> shifts_;
};

template <class T>
inline constexpr Type activation_type = sizeof(T) == 1 ? Type::int8 : Type::int16;

// ---- What all of them answer alike --------------------------------------------------------------------------------------

// Extents of all operands; `in`, `filter`, `out` are shapes whose products `check` has bounded.
template <class S>
bool check_sums(const typename S::Params& p, Extent* extents, int operands, uint32_t in, uint32_t filter, uint32_t out,
                int32_t batches, int32_t channels) {
  if (operands != sum_own + S::own_operands) return false;
  extents[sum_input] = {extent_bytes(in, sizeof(typename S::Input)), sizeof(typename S::Input)};
  extents[sum_filter] = {extent_bytes(filter, sizeof(typename S::Weight)), sizeof(typename S::Weight)};
  using Bias = typename S::Bias;
  extents[sum_bias] = {extent_bytes(static_cast<uint32_t>(channels), sizeof(Bias)), sizeof(Bias), false, true};
  extents[sum_output] = {extent_bytes(out, sizeof(typename S::Output)), sizeof(typename S::Output), true};
  extents[sum_accumulator] = {extent_bytes(out, sizeof(typename S::Accumulator)), sizeof(typename S::Accumulator), true, true};
  return S::check(p, extents + sum_own, batches, channels);
}

// Windows of everything but input and filter.
template <class S>
Box sums_window(const typename S::Params& p, int operand, const Block& block) {
  if (operand >= sum_own) return S::window(p, operand - sum_own, block);
  if (operand != sum_bias) return block.out;
  return {{0, 0, 0, block.out.lo[axis_c]}, {1, 1, 1, block.out.hi[axis_c]}};
}

// ---- Models ---------------------------------------------------------------------------------------------------------------

// One scale for all channels of the filter or one for each along `dimension`; zero points 0.
inline Status check_filter_scales(const TensorInfo& filter, int32_t channels, int32_t dimension) {
  size_t n = filter.scales.size();
  if (n == 0) return LINNET_ERROR(unsupported, "the filter has no scales");
  if (n != 1 && (n != static_cast<size_t>(channels) || filter.quantized_dimension != dimension))
    return LINNET_ERROR(malformed, "the filter must have one scale, or one for each output channel");
  for (int64_t z : filter.zero_points)
    if (z != 0) return LINNET_ERROR(unsupported, "the filter must have zero points of 0");
  return {};
}

template <class T>
Status check_activation_scales(const TensorInfo& in, const TensorInfo& out) {
  if (!is_quantized(in) || !is_quantized(out))
    return LINNET_ERROR(unsupported, "input and output need one scale each");
  bool ok = is_zero_point<T>(in.zero_point()) && is_zero_point<T>(out.zero_point());
  if (sizeof(T) == 2) ok = in.zero_point() == 0 && out.zero_point() == 0;
  if (!ok) return LINNET_ERROR(unsupported, "a zero point does not suit its type: it is 0 for int16");
  return {};
}

// The bias is absent or has the type (or, for int16 activations, one of two types) and a number for each channel.
inline Status check_bias(const TensorInfo& bias, Type type, Type or_type, int32_t channels) {
  if (!bias.present()) return {};
  if (bias.type != type && bias.type != or_type) return LINNET_ERROR(unsupported, "the bias has a type that does not suit its input");
  if (bias.elements() != channels) return LINNET_ERROR(malformed, "the bias must have one number for each output channel");
  return {};
}

// All of it, for a filter of `channels` output channels along `dimension`.
template <class T>
Status check_quantized(const TensorInfo& in, const TensorInfo& filter, const TensorInfo& bias, const TensorInfo& out, int32_t channels,
                       int32_t dimension) {
  LINNET_TRY(check_activation_scales<T>(in, out));
  LINNET_TRY(check_filter_scales(filter, channels, dimension));
  return check_bias(bias, Type::int32, sizeof(T) == 2 ? Type::int64 : Type::int32, channels);
}
template <class T>
Status check_quantized(const Node& node, int32_t channels, int32_t dimension) {
  return check_quantized<T>(node.input(0), node.input(1), node.input(2), node.output(0), channels, dimension);
}

template <class T>
QuantizedSumParams quantized_sum_params(const TensorInfo& in, const TensorInfo& filter, const TensorInfo& out, int8_t activation) {
  return {static_cast<int16_t>(in.zero_point()), static_cast<int16_t>(out.zero_point()), int_bounds<T>(activation, out),
          filter.scales.size() > 1 ? -1 : 0};
}

// Multipliers and shifts for sums: in * filter / out, rounded to double after each of the two; `single`: the product to float.
struct SumScales {
  Ref multipliers, shifts;
};
inline SumScales emit_sum_scales(Emitter& emitter, const TensorInfo& in, const TensorInfo& filter, const TensorInfo& out,
                                 bool single = false) {
  SumScales result;
  uint32_t n = static_cast<uint32_t>(filter.scales.size());
  int32_t* multipliers;
  int8_t* shifts;
  result.multipliers = emitter.array(n, &multipliers);
  result.shifts = emitter.array(n, &shifts);
  if (!multipliers) return result;
  float in_scale = in.scale(), out_scale = out.scale();
  QuotientMultiplier quotient(in_scale, out_scale);
  const float* scales = filter.scales.data();
  for (uint32_t i = 0; i < n; ++i) {
    QuantizedMultiplier q = single ? quantize_multiplier(divide(to_single(real(in_scale) * real(scales[i])), out_scale))
                                   : quotient(scales[i]);
    multipliers[i] = q.multiplier;
    shifts[i] = static_cast<int8_t>(clamp(q.shift, -31, 31));
  }
  return result;
}

// How wide the sums of int16 activations are: TFLite's quantized_bias_type says it; files that do not say it mean 64 bits,
// whatever the bias has. (One of 32 bits that is computed cannot be widened.)
inline bool sums_of_64_bits(const TensorInfo& bias, int8_t quantized_bias_type) {
  if (bias.present() && bias.type == Type::int64) return true;
  return quantized_bias_type != static_cast<int8_t>(Type::int32) && (!bias.present() || bias.data);
}

// The bias of sums of 64 bits: as it is, or a copy of one of 32 bits.
inline Ref wide_bias(Emitter& emitter, const TensorInfo& bias, Ref given) {
  if (!bias.present() || bias.type != Type::int32) return given;
  uint32_t n = static_cast<uint32_t>(bias.elements());
  int32_t* words;  // of 64-bit numbers, the low one first
  Ref ref = emitter.array(2 * n, &words);
  const int32_t* narrow = reinterpret_cast<const int32_t*>(bias.data);
  for (uint32_t i = 0; words && i < n; ++i) {
    words[2 * i] = narrow[i];
    words[2 * i + 1] = narrow[i] < 0 ? -1 : 0;
  }
  return ref;
}

}  // namespace linnet::ops
