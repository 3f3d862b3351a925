#include "tests/fuzz/catalogue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "linnet/build/builder.h"
#include "linnet/engine/nest.h"
#include "linnet_catalogue.h"
#include "tests/fuzz/kernel_numbers.h"

namespace linnet::fuzz {
namespace {

template <class K>
Cost cost_of(const void* params) {
  return K::Computation::cost(*static_cast<const detail::Params<K>*>(params));
}

template <class L>
struct Listed;
template <class... K>
struct Listed<List<K...>> {
  static constexpr const KernelTable& table = TiledKernels<K...>::table;
  static constexpr KernelAnswers answers[] = {{&cost_of<K>, &detail::lag<K>}...};
  static constexpr uint16_t numbers[] = {kernel_number(K::set, K::Computation::name)...};
};
using All = Listed<all::Kernels>;

bool refuse(const uint8_t*, uint32_t, Extent*, int) { return false; }

// A big table with few kernels in it.
struct Numbered {
  KernelEntry kernels[kernel_numbers];
  TileEntry tiles[kernel_numbers];
  KernelAnswers answers[kernel_numbers];
  Tiling tiling = make_tiling(tiles);
  KernelTable table = {numbered_hash, kernel_numbers, kernels, &tiling};

  Numbered() {
    std::fill(std::begin(kernels), std::end(kernels), KernelEntry{nullptr, &refuse});
    for (uint32_t k = 0; k < All::table.count; ++k) {
      uint32_t number = All::numbers[k];
      if (kernels[number].run) {
        std::fputs("two kernels have the same number: change the arithmetic of kernel_numbers.h, write the seeds anew\n", stderr);
        std::abort();
      }
      kernels[number] = All::table.kernels[k];
      tiles[number] = All::table.tiling->kernels[k];
      answers[number] = All::answers[k];
    }
  }
};

uint64_t work_of_step(const Kernels& kernels, const Step& step, int operands, const uint8_t* params) {
  uint32_t kernel = step.kernel & (step_walks_down - 1u);
  Cost cost = kernels.answers[kernel].cost(params);
  Extent extents[max_operands];
  kernels.table->kernels[kernel].check(params, UINT32_MAX, extents, operands);
  uint64_t work = cost.macs + cost.operations;
  for (int i = 0; i < operands; ++i)
    if (!extents[i].optional) work += extents[i].bytes;
  return work;
}

}  // namespace

const BuildTable& build_table() {
  static const BuildTable tiled = [] {
    BuildTable t = Build<all::Kernels, all::Operators>::table;
    t.kernels = &All::table;
    return t;
  }();
  return tiled;
}

Kernels all_kernels() { return {&All::table, All::answers}; }

Kernels numbered_kernels() {
  static const auto* numbered = new Numbered;
  return {&numbered->table, numbered->answers};
}

uint64_t work_of(const uint8_t* program, const Kernels& kernels, uint64_t most_rounds) {
  uint64_t work = 0, rounds = 1;
  const Step* step = reinterpret_cast<const Step*>(program + header_of(program).code.offset);
  for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step)) {
    switch (static_cast<StepKind>(step->kind)) {
      case StepKind::nest: {
        const Nest& nest = *reinterpret_cast<const Nest*>(program + step->params);
        for (int i = 0; i < nest.depth; ++i) rounds *= nest.trips[i];
        rounds = std::min(rounds, most_rounds);
        break;
      }
      case StepKind::nest_end: rounds = 1; break;
      case StepKind::run: work += rounds * work_of_step(kernels, *step, step->operands, program + step->params); break;
      case StepKind::run_tile: work += rounds * work_of_step(kernels, *step, step->operands - 1, program + step->params); break;
      case StepKind::move:
      case StepKind::fill: work += step->params; break;
      default: break;
    }
  }
  return work;
}

}  // namespace linnet::fuzz
