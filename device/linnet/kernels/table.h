// Kernel and operator tables: what a firmware (or the host) can run, made at compile time from lists of types.
//
// A KernelTable is all that a ready-made Program needs. A BuildTable adds what it takes to make Programs from a .tflite.
// Both refer to the same kernels in the same order; the order is the order of preference.
#pragma once
#include "linnet/ops/op.h"

namespace linnet {

using RunFunction = void (*)(void* const* data, const void* params, const Block* block, Direction direction);
using CheckFunction = bool (*)(const uint8_t* params, uint32_t params_bytes, Extent* extents, int operands);

struct KernelEntry {
  RunFunction run;
  CheckFunction check;
};

// What loop nests need besides: the box of each operand that a block touches, and the whole layer as a block.
struct TileEntry {
  Box (*window)(const void* params, int operand, const Block& block);
  void (*whole)(const void* params, Block& block, View* views);
  Splits splits;
};
struct Tiling;  // engine/nest.h: what a firmware needs to run loop nests

struct KernelTable {
  uint32_t hash;  // identifies the kernels and their order; a Program carries the same
  uint32_t count;
  const KernelEntry* kernels;
  const Tiling* tiling;  // null in a firmware that runs no loop nests
};

// What the builder asks about a kernel.
struct KernelFacts {
  uint32_t computation;
  bool (*accepts)(const void* params);
  uint32_t (*scratch_bytes)(const void* params);
  Lag (*lag)(const void* params, int input, int output);
};

struct OperatorEntry {
  uint16_t builtin_code;
  uint8_t max_version;
  TypeSignature types;
  Status (*infer)(const Node&);
  Status (*lower)(const Node&, Emitter&);
};

struct BuildTable {
  const KernelTable* kernels;
  const KernelFacts* facts;  // one per kernel
  const OperatorEntry* operators;
  uint32_t operator_count;
};

// A kernel's contribution to its table's hash; the same on host and device because it is made of names.
constexpr uint32_t hash_seed = 2166136261u;
constexpr uint32_t hash_kernel_names(const char* set, const char* computation, uint32_t params_version, uint32_t hash) {
  hash = hash_text(computation, hash_text(set, hash));
  return (hash ^ params_version) * 16777619u;
}

namespace detail {

template <class K>
using Params = typename K::Computation::Params;

template <class K>
void run_kernel(void* const* data, const void* params, const Block* block, Direction direction) {
  const Params<K>& p = *static_cast<const Params<K>*>(params);
  if (block) return K::run(Call{data, *block, direction}, p);
  View views[max_operands];  // a whole layer: the views follow from the parameters
  Block whole;
  whole.views = views;
  whole.first = whole.last = true;
  K::Computation::whole(p, whole, views);
  K::run(Call{data, whole, direction}, p);
}

template <class K>
bool check_kernel(const uint8_t* params, uint32_t params_bytes, Extent* extents, int operands) {
  return params_bytes >= sizeof(Params<K>) &&
         K::Computation::check(*reinterpret_cast<const Params<K>*>(params), extents, operands);
}

template <class K>
Box window_of(const void* params, int operand, const Block& block) {
  return K::Computation::window(*static_cast<const Params<K>*>(params), operand, block);
}

template <class K>
void whole_of(const void* params, Block& block, View* views) {
  K::Computation::whole(*static_cast<const Params<K>*>(params), block, views);
}

template <class K>
auto accepts_of(const Params<K>& p, int) -> decltype(K::accepts(p)) { return K::accepts(p); }
template <class K>
bool accepts_of(const Params<K>&, long) { return true; }
template <class K>
auto scratch_of(const Params<K>& p, int) -> decltype(K::scratch_bytes(p)) { return K::scratch_bytes(p); }
template <class K>
uint32_t scratch_of(const Params<K>&, long) { return 0; }

template <class K>
bool accepts(const void* params) { return accepts_of<K>(*static_cast<const Params<K>*>(params), 0); }
template <class K>
uint32_t scratch_bytes(const void* params) { return scratch_of<K>(*static_cast<const Params<K>*>(params), 0); }
template <class K>
Lag lag(const void* params, int input, int output) {
  return K::lag(*static_cast<const Params<K>*>(params), input, output);
}

template <class... K>
constexpr uint32_t hash_kernels() {
  uint32_t hash = hash_seed;
  ((hash = hash_kernel_names(K::set, K::Computation::name, K::Computation::params_version, hash)), ...);
  return hash;
}

template <class O>
constexpr OperatorEntry operator_entry() {
  static_assert(O::max_version <= 255);
  return {O::builtin_code, O::max_version, O::types, &O::infer, &O::lower};
}

}  // namespace detail

// The tables for a list of kernels: `Kernels<A, B>::table`, and with operators `Build<List<A, B>, List<X, Y>>::table`.
template <class... K>
struct Kernels {
  static constexpr KernelEntry entries[] = {{&detail::run_kernel<K>, &detail::check_kernel<K>}...};
  static constexpr KernelTable table = {detail::hash_kernels<K...>(), sizeof...(K), entries, nullptr};
};

template <class KernelList, class OperatorList>
struct Build;
template <class... K, class... O>
struct Build<List<K...>, List<O...>> {
  static constexpr KernelFacts facts[] = {
      {computation_id(K::Computation::name), &detail::accepts<K>, &detail::scratch_bytes<K>, &detail::lag<K>}...};
  static constexpr OperatorEntry operators[] = {detail::operator_entry<O>()...};
  static constexpr BuildTable table = {&Kernels<K...>::table, facts, operators, sizeof...(O)};
};

// Lists joined: Concat<List<A>, List<B, C>>::type is List<A, B, C>.
template <class... L>
struct Concat;
template <>
struct Concat<> { using type = List<>; };
template <class... A>
struct Concat<List<A...>> { using type = List<A...>; };
template <class... A, class... B, class... Rest>
struct Concat<List<A...>, List<B...>, Rest...> { using type = typename Concat<List<A..., B...>, Rest...>::type; };

}  // namespace linnet
