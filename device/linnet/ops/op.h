// The op contract: everything that the system knows about an operator is said through the types of this header, in one
// file ops/<op>.h. Nothing else in Linnet knows an operator by name.
//
// An op file (namespace linnet::ops::<op>) contains
//
//   * Computations. One per element type: what a step of a Program computes.
//       struct Int8 {
//         using Computation = Int8;                       // itself; a kernel of another set names the one it implements
//         static constexpr const char* set = "reference";
//         static constexpr const char* name = "conv_2d.int8";   // unique; hashed into the kernel table's identity
//         static constexpr uint32_t params_version = 1;   // grows with every change of Params
//         struct Params { ... };                          // lowered integers, fixed width, multiple of 4 bytes, no pointers
//         static constexpr Splits splits = ...;           // axes of `out` and reduction that blocks may divide
//         static bool check(const Params&, Extent*, int operands);       // see Extent
//         static void whole(const Params&, Block&, View*);               // the biggest block and its dense views
//         static Box window(const Params&, int operand, const Block&);   // the box of an operand that a block touches
//         static Cost cost(const Params&);
//         static Lag lag(const Params&, int input, int output);          // of this kernel; whole layer, dense buffers
//         static void run(const Call&, const Params&);                   // the reference: plain loops over a block
//       };
//   * Operators. One per combination of types that the .tflite operator may have:
//       struct Conv2DInt8 {
//         static constexpr uint16_t builtin_code = 3;     // schema: BuiltinOperator
//         static constexpr int32_t max_version = 3;
//         static constexpr TypeSignature types = {Type::int8, Type::int8, Type::int8};  // input 0, input 1, output 0
//         static Status infer(const Node&);               // refuses models: types, shapes, attributes; touches nothing
//         static Status lower(const Node&, Emitter&);     // emits zero or more steps; only after every infer said ok
//       };
//   * using Operators = List<...>; using Kernels = List<...>;   // what the build collects from this file
//
// A kernel of another set (kernels/<set>/<op>.h, namespace linnet::kernels::<set>::<op>) is a struct with `Computation`,
// `set`, `splits`, `lag`, `run` and, optionally, `accepts(const Params&)` and `scratch_bytes(const Params&)`.
#pragma once
#include <stdint.h>

#include "linnet/core/block.h"
#include "linnet/core/span.h"
#include "linnet/core/status.h"
#include "linnet/core/table.h"
#include "linnet/core/types.h"

namespace linnet {

template <class... T>
struct List {};

constexpr int max_operands = 24;  // of one step: UNIDIRECTIONAL_SEQUENCE_LSTM needs 20

// ---- What a computation says about itself -----------------------------------------------------------------------------

// What `check` says about one operand: the bytes that a whole-layer run may touch, counted from the operand's start, the
// size (and so the alignment) of its elements, and whether it is written. `optional` operands may be absent (null).
// Elements of 64 bits that are only read may lie at multiples of four bytes, as in .tflite files: see ops/shapes.h, load().
// `check` proves from the parameters alone that `run` stays inside these bytes for every block inside `whole`, that no
// arithmetic of `run` overflows, and returns false for parameters of which that is not true. It trusts nothing.
struct Extent {
  uint32_t bytes = 0;
  uint8_t element_bytes = 1;
  bool written = false;
  bool optional = false;
};

// Room for a step's extents. Only those of its operands are set: most steps have few, and start-up checks them all.
class ExtentRoom {
 public:
  Extent* clear(int operands) {
    Extent* extents = reinterpret_cast<Extent*>(bytes_);
    for (int i = 0; i < operands; ++i) extents[i] = Extent();
    return extents;
  }

 private:
  alignas(Extent) unsigned char bytes_[max_operands * sizeof(Extent)];
};

struct Cost {
  uint64_t macs = 0;        // multiply-accumulates
  uint64_t operations = 0;  // results that need arithmetic other than MACs (requantisations, comparisons, exponentials)
};

// How far the output may overlap an input of a whole-layer run in dense buffers, in bytes. Walking up, the output may
// overlap an input that starts at or after output start + forward; walking down, one that ends at or before output end -
// backward, i.e. output end >= input end + backward. Either may be negative (the output may run ahead by so much) or never.
struct Lag {
  static constexpr int32_t never = INT32_MAX;
  int32_t forward = never;
  int32_t backward = never;
};

// ---- What a kernel is given -------------------------------------------------------------------------------------------

struct Call {
  void* const* data;  // one address per operand; null for absent ones
  const Block& block;
  Direction direction;  // for whole-layer runs whose output overlaps an input; blocks of tiles always walk up

  template <class T>
  TensorView<const T> in(int operand) const { return {static_cast<const T*>(data[operand]), &block.views[operand]}; }
  template <class T>
  TensorView<T> out(int operand) const { return {static_cast<T*>(data[operand]), &block.views[operand]}; }
  bool has(int operand) const { return data[operand] != nullptr; }
};

// Computations are named in tables by the hash of their name (FNV-1a), which is the same on host and device.
constexpr uint32_t hash_text(const char* text, uint32_t hash = 2166136261u) {
  for (; *text; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 16777619u;
  return hash;
}
constexpr uint32_t computation_id(const char* name) { return hash_text(name); }

// ---- What the builder shows of a .tflite operator ---------------------------------------------------------------------

struct TensorInfo {
  Type type = Type::none;               // none: an absent optional tensor
  bool is_variable = false;
  Span<const int32_t> dims;             // empty: a scalar
  Span<const float> scales;             // empty: not quantised
  Span<const int64_t> zero_points;      // empty or as many as scales
  int32_t quantized_dimension = 0;
  const uint8_t* data = nullptr;        // a constant's bytes (dims and type say how many), else null

  bool present() const { return type != Type::none; }
  int rank() const { return static_cast<int>(dims.size()); }
  float scale(size_t i = 0) const { return i < scales.size() ? scales[i] : 0.0f; }
  int32_t zero_point(size_t i = 0) const { return i < zero_points.size() ? static_cast<int32_t>(zero_points[i]) : 0; }
  int32_t elements() const {
    int32_t n = 1;
    for (int32_t d : dims) n *= d;  // the verifier has bounded the product
    return n;
  }
};

inline bool same_dims(const TensorInfo& a, const TensorInfo& b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a.dims[static_cast<size_t>(i)] != b.dims[static_cast<size_t>(i)]) return false;
  return true;
}

// The types that an Operator handles: input 0, input 1, output 0. Type::none in `input1` or `output0` of the signature
// means that it does not matter (or is absent) and infer looks at it.
struct TypeSignature {
  Type input0;
  Type input1;
  Type output0;
};

class Builder;
class Model;

// One operator of a verified model. Defined in build/node.h.
class Node {
 public:
  int input_count() const;
  int output_count() const;
  int intermediate_count() const;
  TensorInfo input(int i) const;   // absent if i is out of range or the index is -1
  TensorInfo output(int i) const;  // likewise
  TensorInfo intermediate(int i) const;
  int32_t version() const;
  Table options() const;           // the operator's option table; without storage if there is none
  // For control flow: what another subgraph takes and gives.
  int32_t subgraph_count() const;
  TensorInfo subgraph_input(int32_t subgraph, int i) const;   // absent if out of range
  TensorInfo subgraph_output(int32_t subgraph, int i) const;  // likewise

  const Model* model = nullptr;
  int32_t subgraph = 0;
  int32_t index = 0;
  const uint8_t* subgraph_table = nullptr;  // where both stand in the file
  const uint8_t* operator_table = nullptr;
};

// ---- What lower() may do ----------------------------------------------------------------------------------------------

// Names an operand of a step being emitted. Made by the Emitter only.
struct Ref {
  enum Kind : uint8_t { absent, tensor, scratch, array };
  Kind kind = absent;
  uint8_t role = 0;    // engine/program.h: Role
  uint32_t index = 0;  // entry of the tensor table, scratch buffer, or offset of an array in the parameter section
};

// The only way from an operator to a Program. Defined in build/builder.h. lower() runs twice, first to count and then to
// write, and must emit the same both times; arrays have no storage while counting.
class Emitter {
 public:
  Ref in(int i);      // input i of the node: read. Absent if the optional input is.
  Ref inout(int i);   // input i of the node, a variable tensor: state that is read and written
  Ref out(int i);     // output i of the node: written
  Ref scratch(uint32_t bytes);  // contents undefined before and after the node; the same Ref may serve several steps

  // An array of parameters of its own operand (per-channel multipliers, say), so that it can be tiled like any other.
  // `storage` receives `count` elements to fill, or null while counting: then skip the work.
  template <class T>
  Ref array(uint32_t count, T** storage) {
    void* bytes = nullptr;
    Ref ref = array_bytes(count * static_cast<uint32_t>(sizeof(T)), &bytes);
    *storage = static_cast<T*>(bytes);
    return ref;
  }

  // One step that runs computation C on these operands, with the first kernel that accepts the parameters. Scratch that the
  // kernel asks for becomes the last operand. A computation that can reduce in several calls has an accumulator operand,
  // given here as Ref{}: absent for a whole layer.
  template <class C, uint32_t n>
  Status run(const typename C::Params& params, const Ref (&operands)[n]) {
    static_assert(n <= max_operands && sizeof(typename C::Params) % 4 == 0);
    return step(computation_id(C::name), &params, sizeof params, operands, n);
  }

  // Output `output` is the same bytes as input `input` and needs no step (RESHAPE). Where the two must not share memory (a
  // graph input that is a graph output as well) a copy step is emitted instead.
  Status alias(int input, int output);

  // Control flow, forward only: a branch or jump is emitted first and its target bound later within the same node.
  struct Label { uint32_t at; };
  Label branch_if_false(Ref condition);  // condition: one boolean
  Label jump();
  void bind(Label label);
  // Emits the steps of another subgraph in place: its inputs are the node's inputs from `first_input` on, its outputs the
  // node's outputs. Refuses recursion and unequal types or shapes.
  Status subgraph(int32_t index, int first_input);

  Emitter(Builder& builder, const Node& node, uint32_t first_entry)
      : builder_(builder), node_(node), first_entry_(first_entry) {}

 private:
  Ref array_bytes(uint32_t bytes, void** storage);
  Status step(uint32_t computation, const void* params, uint32_t params_bytes, const Ref* operands, uint32_t count);

  Builder& builder_;
  const Node& node_;
  uint32_t first_entry_;  // of the node's subgraph in the builder's tensor table
};

}  // namespace linnet
