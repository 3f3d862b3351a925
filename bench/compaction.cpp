// What compaction saves: the arena of published networks' graphs and of ones made to fragment, without moves and with them.
// The table of docs/memory.md.
//     compaction [NETWORK..]
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "linnet/graph/networks.h"
#include "linnet/plan/network_plan.h"
#include "linnet/run/catalogue.h"

using namespace linnet;

namespace {

void print_row(const std::string& name, const std::vector<uint8_t>& file, plan::OrderPolicy order) {
  plan::NetworkOptions options;
  options.order = order;
  options.memory = plan::MemoryPolicy::compacting;
  options.order_limits.time_limit_s = 2;
  options.placement_limits.time_limit_s = 5;
  auto start = std::chrono::steady_clock::now();
  plan::NetworkPlan p = plan::plan_network(open_model({file.data(), file.size()}), catalogue().table, options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double saved = 100.0 * static_cast<double>(p.still_arena_bytes - p.arena_bytes) / static_cast<double>(p.still_arena_bytes);
  fmt::print("| {} | {} | {} | {} | {} | {:.1f} % | {} | {} | {:.1f} |\n", name, order == plan::OrderPolicy::keep ? "given" : "best", p.still_arena_bytes, p.arena_bytes, p.lower_bound_bytes, saved,
             p.moves.size(), p.moved_bytes, seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  auto wanted = [&](const std::string& name) {
    for (int i = 1; i < argc; ++i)
      if (name == argv[i]) return true;
    return argc == 1;
  };
  fmt::print("| network | order | static | compacting | lower bound | saved | moves | bytes moved | s |\n");
  fmt::print("|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (plan::OrderPolicy order : {plan::OrderPolicy::keep, plan::OrderPolicy::best}) {
    for (const graph::NamedNetwork& n : graph::named_networks())
      if (wanted(n.name)) print_row(n.name, n.make(Type::int8), order);
    if (wanted("watts_strogatz_300")) print_row("watts_strogatz_300", graph::watts_strogatz({.nodes = 30, .stages = 3, .seed = 7}), order);
    for (uint32_t seed = 1; seed <= 3; ++seed)
      if (std::string name = fmt::format("narrow_holes_{}", seed); wanted(name)) print_row(name, graph::narrow_holes(seed), order);
  }
}
