// UNIDIRECTIONAL_SEQUENCE_LSTM (Hochreiter & Schmidhuber 1997, as TFLite Micro computes it): float32; int8 weights with
// int8 or int16 activations and an int16 cell. Refused: peepholes, projection, layer normalisation, coupled gates, hybrid.
//
//   gate = logistic(W x(t) + b + R h(t - 1)) for the input, forget and output gates, tanh(..) for the cell gate
//   cell = forget * cell + input * cell gate;  h(t) = output * tanh(cell)
//
// Axes: batch, time as columns (whichever is outer in memory), units as channels. A unit needs the h of all units of the
// step before, so blocks divide the batch only. No scratch: the new h is made in the output, then copied to the state.
#pragma once
#include "linnet/core/fixed_math.h"
#include "linnet/core/math.h"
#include "linnet/ops/shapes.h"

namespace linnet::ops::unidirectional_sequence_lstm {

// Gates in the file's order; operands of the step are the file's inputs without those that are refused.
enum Gate { input_gate, forget_gate, cell_gate, output_gate, gates };
enum Operand { input, weights = 1, recurrent = 5, bias = 9, hidden = 13, cell = 14, output = 15, operands = 16 };

struct Shape {
  int32_t batches, steps, inputs, units;
  int32_t time_major;
};

inline bool check_shape(const Shape& s, Extent* extents, int count, uint8_t bytes, uint8_t weight_bytes, uint8_t bias_bytes, uint8_t cell_bytes) {
  uint32_t x, w, r, h, y;
  if (count != operands || !product(x, s.batches, s.steps, s.inputs) || !product(w, s.units, s.inputs) ||
      !product(r, s.units, s.units) || !product(h, s.batches, s.units) || !product(y, s.batches, s.steps, s.units))
    return false;
  extents[input] = {extent_bytes(x, bytes), bytes};
  for (int g = 0; g < gates; ++g) {
    extents[weights + g] = {extent_bytes(w, weight_bytes), weight_bytes};
    extents[recurrent + g] = {extent_bytes(r, weight_bytes), weight_bytes};
    extents[bias + g] = {extent_bytes(static_cast<uint32_t>(s.units), bias_bytes), bias_bytes};
  }
  extents[hidden] = {extent_bytes(h, bytes), bytes, true};
  extents[cell] = {extent_bytes(h, cell_bytes), cell_bytes, true};
  extents[output] = {extent_bytes(y, bytes), bytes, true};
  return true;
}

// Of a sequence of vectors: {batch, time, vector} or {time, batch, vector}.
inline View sequence_view(const Shape& s, int32_t length) {
  View view = dense_view(1, s.steps, length);
  if (s.time_major) {
    view.stride[0] = view.stride[1] = length;
    view.stride[2] = s.batches * length;
  }
  return view;
}

inline void whole_layer(const Shape& s, Block& block, View* views) {
  block.out = whole_box(s.batches, 1, s.steps, s.units);
  for (int i = 0; i < operands; ++i) views[i] = dense_view(1, 1, s.units);
  for (int g = 0; g < gates; ++g) {
    views[weights + g] = dense_view(1, s.units, s.inputs);
    views[recurrent + g] = dense_view(1, s.units, s.units);
  }
  views[input] = sequence_view(s, s.inputs);
  views[output] = sequence_view(s, s.units);
}

inline Box window_of(const Shape& s, int operand, const Block& block) {
  Box box = block.out;
  if (operand == output) return box;
  if (operand == input) {
    box.hi[3] = s.inputs;
  } else if (operand == hidden || operand == cell) {
    box.hi[2] = 1;
  } else {
    bool matrix = operand < bias;
    box = whole_box(1, 1, matrix ? s.units : 1, operand < recurrent ? s.inputs : s.units);
  }
  return box;
}

inline Cost cost_of(const Shape& s) {
  uint64_t results = static_cast<uint64_t>(s.batches) * static_cast<uint64_t>(s.steps) * static_cast<uint64_t>(s.units);
  return {4 * results * (static_cast<uint64_t>(s.inputs) + static_cast<uint64_t>(s.units)), 9 * results};
}

// What the arithmetic types share. A: activations; W: weights; B: biases; C: cell; F: the arithmetic, with
//   C gate(const Params&, const A* x, const W* w, const B* b, const A* h, const W* r, int gate)
//   void unit(const Params&, const C (&gate)[gates], C& cell, A& h)
template <class A, class W, class B, class C, class P, class F>
struct Lstm {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch;
  using Params = P;

  static void whole(const P& p, Block& block, View* views) { whole_layer(p, block, views); }
  static Box window(const P& p, int operand, const Block& block) { return window_of(p, operand, block); }
  static Cost cost(const P& p) { return cost_of(p); }
  static Lag lag(const P&, int, int) { return {}; }

  static void run(const Call& call, const P& p) {
    const Box& box = call.block.out;
    for (int32_t b = box.lo[0]; b < box.hi[0]; ++b) {
      A* h = call.out<A>(hidden).at(b, 0, 0, 0);
      C* c = call.out<C>(cell).at(b, 0, 0, 0);
      for (int32_t t = 0; t < p.steps; ++t) {
        const A* x = call.in<A>(input).at(b, 0, t, 0);
        A* y = call.out<A>(output).at(b, 0, t, 0);
        for (int32_t u = 0; u < p.units; ++u) {
          C gate[gates];
          for (int g = 0; g < gates; ++g)
            gate[g] = F::gate(p, x, call.in<W>(weights + g).at(0, 0, u, 0), call.in<B>(bias + g).channel(u), h,
                              call.in<W>(recurrent + g).at(0, 0, u, 0), g);
          F::unit(p, gate, c[u], y[u]);
        }
        for (int32_t u = 0; u < p.units; ++u) h[u] = y[u];
      }
    }
  }
};

// ---- float32 ----------------------------------------------------------------------------------------------------------

struct FloatParams : Shape {
  float cell_clip;  // 0: none
};

struct Float : Lstm<float, float, float, float, FloatParams, Float> {
  using Computation = Float;
  static constexpr const char* name = "lstm.float32";
  static constexpr uint32_t params_version = 1;

  static bool check(const FloatParams& p, Extent* extents, int count) { return check_shape(p, extents, count, 4, 4, 4, 4); }
  static float dot(const float* a, const float* b, int32_t n) {
    float sum = 0;
    for (int32_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
  static float gate(const FloatParams& p, const float* x, const float* w, const float* b, const float* h, const float* r, int g) {
    float sum = dot(x, w, p.inputs) + *b;
    sum += dot(h, r, p.units);
    return g == cell_gate ? tanh_float(sum) : logistic_float(sum);
  }
  static void unit(const FloatParams& p, const float (&gate)[gates], float& c, float& h) {
    float next = gate[forget_gate] * c + gate[input_gate] * gate[cell_gate];
    if (p.cell_clip > 0) next = next > p.cell_clip ? p.cell_clip : next < -p.cell_clip ? -p.cell_clip : next;
    c = next;
    h = tanh_float(next) * gate[output_gate];
  }
};

// ---- integers ---------------------------------------------------------------------------------------------------------

struct IntParams : Shape {
  int32_t input_zero_point, hidden_zero_point;
  QuantizedMultiplier from_input[gates], from_hidden[gates];  // to a gate's sum, which has 12 fractional bits
  QuantizedMultiplier forget, update, out;                    // of the products; gates have 15 fractional bits
  int32_t cell_shift;  // to the left, for 12 fractional bits
  int32_t cell_clip;   // -1: none
};

template <class A>  // sums and biases of int8 activations have 32 bits, of int16 ones 64
struct Wide {
  using type = int32_t;
};
template <>
struct Wide<int16_t> {
  using type = int64_t;
};

template <class A>
struct Int : Lstm<A, int8_t, typename Wide<A>::type, int16_t, IntParams, Int<A>> {
  using Sum = typename Wide<A>::type;
  using Computation = Int;
  static constexpr const char* name = sizeof(A) == 1 ? "lstm.int8" : "lstm.int16";
  static constexpr uint32_t params_version = 1;

  static bool check(const IntParams& p, Extent* extents, int count) {
    bool ok = check_shape(p, extents, count, sizeof(A), 1, sizeof(Sum), 2);
    for (int g = 0; g < gates; ++g) ok = ok && usable(p.from_input[g]) && usable(p.from_hidden[g]);
    return ok && is_zero_point<A>(p.input_zero_point) && is_zero_point<A>(p.hidden_zero_point) && is_valid(p.forget) &&
           is_valid(p.update) && is_valid(p.out) && in_range(p);
  }
  // The reduced multiplication of 64-bit sums takes smaller shifts than that of 32-bit ones.
  static bool usable(const QuantizedMultiplier& q) { return is_valid(q) && (sizeof(A) == 1 || q.shift <= 14); }
  static bool in_range(const IntParams& p) {
    return p.inputs <= max_length && p.units <= max_length && p.cell_shift >= -15 && p.cell_shift <= 14 && p.cell_clip >= -1 &&
           p.cell_clip <= INT16_MAX;
  }

  static int32_t dot(const A* x, const int8_t* w, Sum sum, int32_t n, int32_t zero_point, const QuantizedMultiplier& q) {
    Sum products = 0;  // bounded by max_length; only the bias may make the sum wrap
    for (int32_t i = 0; i < n; ++i) products += w[i] * (x[i] - zero_point);
    sum = add(products, sum);
    return clamp(multiply_by_quantized_multiplier(sum, q.multiplier, q.shift), INT16_MIN, INT16_MAX);
  }
  static int16_t gate(const IntParams& p, const A* x, const int8_t* w, const Sum* b, const A* h, const int8_t* r, int g) {
    int32_t sum = dot(x, w, load(b), p.inputs, p.input_zero_point, p.from_input[g]) + dot(h, r, 0, p.units, p.hidden_zero_point, p.from_hidden[g]);
    sum = clamp(sum, INT16_MIN, INT16_MAX) * 3;
    return g == cell_gate ? tanh_int16(sum) : logistic_int16(sum);
  }
  static int32_t multiply(int16_t a, int16_t b, const QuantizedMultiplier& q) {
    return multiply_by_quantized_multiplier(static_cast<int32_t>(a * b), q.multiplier, q.shift);
  }
  static int16_t tanh_of_cell(int16_t c, int32_t shift) {
    int32_t x = c * 3;
    if (shift >= 0) return tanh_int16(x * (1 << shift));
    return tanh_int16((x + (1 << (-shift - 1))) >> -shift);
  }
  static void unit(const IntParams& p, const int16_t (&gate)[gates], int16_t& c, A& h) {
    int32_t next = clamp(multiply(gate[forget_gate], c, p.forget), INT16_MIN, INT16_MAX) +
                   clamp(multiply(gate[input_gate], gate[cell_gate], p.update), INT16_MIN, INT16_MAX);
    next = clamp(next, INT16_MIN, INT16_MAX);
    if (p.cell_clip >= 0) next = clamp(next, -p.cell_clip, p.cell_clip);
    c = static_cast<int16_t>(next);
    int32_t y = wrapping_add(multiply(tanh_of_cell(c, p.cell_shift), gate[output_gate], p.out), p.hidden_zero_point);
    h = static_cast<A>(clamp(y, limits<A>::lowest, limits<A>::highest));
  }

 private:
  static constexpr int32_t max_length = 65536;
  static int32_t add(int32_t a, int32_t b) { return wrapping_add(a, b); }
  static int64_t add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
};

// ---- Operators --------------------------------------------------------------------------------------------------------

// Where the step's operands are among the file's 24 inputs.
constexpr uint8_t input_of_operand[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 18, 19};

inline float cell_clip(const Node& node) { return node.options().get<float>(1, 0.0f); }

inline Shape shape_of(const Node& node) {
  Span<const int32_t> x = node.input(0).dims;
  bool time_major = node.options().get<bool>(3, false);
  return {x[time_major ? 1 : 0], x[time_major ? 0 : 1], x[2], node.output(0).dims[2], time_major};
}

inline bool has_shape(const TensorInfo& t, Type type, int32_t a, int32_t b) {
  if (t.type != type || t.rank() != (b == 0 ? 1 : 2)) return false;
  return t.dims[0] == a && (b == 0 || t.dims[1] == b);
}

inline Status infer_lstm(const Node& node, Type type, Type weight_type, Type bias_type, Type cell_type) {
  TensorInfo x = node.input(0), y = node.output(0);
  for (int i = 9; i < 12; ++i)
    if (node.input(i).present()) return LINNET_ERROR(unsupported, "the LSTM has peephole connections, which are not supported");
  if (node.input(16).present() || node.input(17).present())
    return LINNET_ERROR(unsupported, "the LSTM has a projection, which is not supported");
  for (int i = 20; i < 24; ++i)
    if (node.input(i).present()) return LINNET_ERROR(unsupported, "the LSTM has layer normalisation, which is not supported");
  if (!node.input(1).present() || !node.input(5).present())
    return LINNET_ERROR(unsupported, "the LSTM couples its input and forget gates, which is not supported");
  if (node.options().get<int8_t>(0, 0) != 4) return LINNET_ERROR(unsupported, "the LSTM's activation is not TANH");
  if (node.options().get<bool>(5, false)) return LINNET_ERROR(unsupported, "the LSTM has diagonal recurrent weights, which are not supported");
  if (x.rank() != 3 || y.rank() != 3 || x.elements() <= 0 || y.elements() <= 0 || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1])
    return LINNET_ERROR(malformed, "the LSTM's input and output are not sequences of the same length");
  Shape s = shape_of(node);
  bool ok = true;
  for (int i = 0; i < 4; ++i)
    ok = ok && has_shape(node.input(1 + i), weight_type, s.units, s.inputs) && has_shape(node.input(5 + i), weight_type, s.units, s.units) &&
         has_shape(node.input(12 + i), bias_type, s.units, 0);
  if (!ok || !has_shape(node.input(18), type, s.batches, s.units) || !has_shape(node.input(19), cell_type, s.batches, s.units))
    return LINNET_ERROR(unsupported, "the LSTM's weights, biases and states do not have the types and sizes that its input and output ask for");
  if (!node.input(18).is_variable || !node.input(19).is_variable)
    return LINNET_ERROR(unsupported, "the LSTM's states are not variable tensors");
  return {};
}

template <class C>
Status emit(Emitter& e, const typename C::Params& p) {
  Ref refs[operands];
  for (int i = 0; i < hidden; ++i) refs[i] = e.in(input_of_operand[i]);
  refs[hidden] = e.inout(18);
  refs[cell] = e.inout(19);
  refs[output] = e.out(0);
  return e.run<C>(p, refs);
}

struct FloatLstm {
  static constexpr uint16_t builtin_code = 44;
  static constexpr int32_t max_version = 4;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_lstm(node, Type::float32, Type::float32, Type::float32, Type::float32); }
  static Status lower(const Node& node, Emitter& e) { return emit<Float>(e, {shape_of(node), cell_clip(node)}); }
};

// The exponent of a power of two; INT32_MAX if it is none.
inline int32_t exponent_of(float scale) {
  Real r = real(scale);
  return r.mantissa == uint64_t{1} << 52 ? r.exponent + 52 : INT32_MAX;
}

// clip / 2^exponent, cut to an integer; -1 for no clipping.
inline int32_t quantized_clip(float clip, int32_t exponent) {
  if (!(clip > 0)) return -1;
  Real r = times_power_of_two(real(clip), -exponent);
  if (r.exponent > -38) return INT16_MAX;
  return r.exponent < -52 ? 0 : static_cast<int32_t>(r.mantissa >> -r.exponent);
}

inline IntParams int_params(const Node& node) {
  TensorInfo x = node.input(0), h = node.input(18);
  IntParams p{};
  static_cast<Shape&>(p) = shape_of(node);
  p.input_zero_point = x.zero_point();
  p.hidden_zero_point = h.zero_point();
  for (int g = 0; g < gates; ++g) {  // scales are multiplied in single precision
    p.from_input[g] = quantize_multiplier(times_power_of_two(to_single(real(x.scale()) * real(node.input(1 + g).scale())), 12));
    p.from_hidden[g] = quantize_multiplier(times_power_of_two(to_single(real(h.scale()) * real(node.input(5 + g).scale())), 12));
  }
  float cell_scale = node.input(19).scale();
  int32_t exponent = exponent_of(cell_scale);
  Real one = real(1.0f);
  p.forget = quantize_multiplier(times_power_of_two(one, -15));
  p.update = quantize_multiplier(times_power_of_two(divide(one, cell_scale), -30));
  p.out = quantize_multiplier(times_power_of_two(divide(one, h.scale()), -30));
  p.cell_shift = exponent == INT32_MAX ? INT32_MAX : exponent + 12;
  if (exponent != INT32_MAX) p.cell_clip = quantized_clip(cell_clip(node), exponent);
  return p;
}

template <class A>
struct IntLstm {
  static constexpr uint16_t builtin_code = 44;
  static constexpr int32_t max_version = 4;
  static constexpr Type type = sizeof(A) == 1 ? Type::int8 : Type::int16;
  static constexpr TypeSignature types = {type, Type::int8, type};

  static Status infer(const Node& node) {
    LINNET_TRY(infer_lstm(node, type, Type::int8, sizeof(A) == 1 ? Type::int32 : Type::int64, Type::int16));
    bool ok = is_quantized(node.input(0)) && is_quantized(node.input(18)) && is_quantized(node.input(19));
    for (int i = 1; i < 9; ++i) ok = ok && is_quantized(node.input(i)) && node.input(i).zero_point() == 0;
    if (!ok) return LINNET_ERROR(unsupported, "the LSTM needs one scale for each of its tensors, and zero point 0 for weights");
    IntParams p = int_params(node);
    Extent extents[operands];
    if (p.cell_shift == INT32_MAX || !Int<A>::check(p, extents, operands))
      return LINNET_ERROR(unsupported, "the LSTM's cell scale is no power of two, its scales are too far apart, or it is too large");
    return {};
  }
  static Status lower(const Node& node, Emitter& e) { return emit<Int<A>>(e, int_params(node)); }
};

using Operators = List<FloatLstm, IntLstm<int8_t>, IntLstm<int16_t>>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::unidirectional_sequence_lstm
