// Peak memory of networks in the given order, in the best one by plain dynamic programming, and in the one found here:
// the table of docs/planning.md.
//     orders [NETWORK..]
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <string>
#include <unordered_map>

#include "linnet/graph/networks.h"
#include "linnet/plan/network_plan.h"
#include "linnet/plan/order.h"
#include "linnet/run/catalogue.h"

using namespace linnet;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best order by dynamic programming over sets of operators that have run, without bounds, divisions or overlap, as
// Liberis & Lane describe it: every set that an order can reach is looked at.
class PlainSearch {
 public:
  static constexpr double time_limit_s = 10;

  explicit PlainSearch(const plan::OrderProblem& problem)
      : p_(problem), readers_(p_.tensors.size()), producer_(p_.tensors.size(), -1) {
    before_.resize(p_.operators.size());
    for (size_t i = 0; i < p_.operators.size(); ++i) {
      for (int32_t t : p_.operators[i].inputs) readers_[at(t)].push_back(static_cast<int32_t>(i));
      for (int32_t t : p_.operators[i].outputs) producer_[at(t)] = static_cast<int32_t>(i);
    }
    for (size_t i = 0; i < p_.operators.size(); ++i)
      for (int32_t t : p_.operators[i].inputs)
        if (producer_[at(t)] >= 0 && producer_[at(t)] != static_cast<int32_t>(i))
          before_[i].push_back(producer_[at(t)]);
    for (const plan::OrderingEdge& e : p_.edges) before_[at(e.after)].push_back(e.before);
  }

  // The least peak, or nothing when the time is over.
  std::optional<int64_t> best() {
    std::unordered_map<std::string, int64_t> reached = {{std::string(p_.operators.size(), '0'), 0}};
    auto start = std::chrono::steady_clock::now();
    for (size_t step = 0; step < p_.operators.size(); ++step) {
      std::unordered_map<std::string, int64_t> next;
      for (auto& [done, peak] : reached) {
        if (seconds_since(start) > time_limit_s) return {};
        for (size_t i = 0; i < p_.operators.size(); ++i) {
          if (done[i] == '1' || !ready(done, i)) continue;
          std::string then = done;
          then[i] = '1';
          int64_t most = std::max(peak, bytes_while(done, i));
          auto [it, fresh] = next.emplace(std::move(then), most);
          if (!fresh) it->second = std::min(it->second, most);
        }
      }
      reached = std::move(next);
    }
    return reached.begin()->second;
  }

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  bool ready(const std::string& done, size_t i) const {
    for (int32_t b : before_[i])
      if (done[at(b)] == '0') return false;
    return true;
  }
  int64_t bytes_while(const std::string& done, size_t running) const {
    int64_t bytes = p_.operators[running].scratch_bytes;
    for (size_t t = 0; t < p_.tensors.size(); ++t) {
      bool exists = producer_[t] < 0 || done[at(producer_[t])] == '1' || at(producer_[t]) == running;
      bool needed = p_.tensors[t].kept || (producer_[t] >= 0 && at(producer_[t]) == running);
      for (int32_t r : readers_[t]) needed |= done[at(r)] == '0';
      if (exists && needed) bytes += p_.tensors[t].size_bytes;
    }
    return bytes;
  }

  const plan::OrderProblem& p_;
  std::vector<std::vector<int32_t>> readers_, before_;
  std::vector<int32_t> producer_;
};

void print_row(const std::string& name, const std::vector<uint8_t>& file) {
  Model model = open_model({file.data(), file.size()});
  plan::OrderProblem problem = plan::order_problem(model, catalogue().table);
  plan::OrderProblem plain = problem;
  plain.savings.clear();
  std::vector<int32_t> given;
  for (size_t i = 0; i < problem.operators.size(); ++i) given.push_back(static_cast<int32_t>(i));

  auto start = std::chrono::steady_clock::now();
  std::optional<int64_t> best = problem.operators.size() < 2000 ? PlainSearch(plain).best() : std::nullopt;
  double plain_s = seconds_since(start);
  start = std::chrono::steady_clock::now();
  plan::Order found = plan::find_order(problem, {10, 0});
  double found_s = seconds_since(start);
  double gap = 100.0 * static_cast<double>(found.peak_bytes - found.lower_bound_bytes) /
               static_cast<double>(found.lower_bound_bytes);
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2f} |\n", name, problem.operators.size(),
             plan::peak_bytes(plain, given), best ? std::to_string(*best) : "-",
             best ? fmt::format("{:.2f}", plain_s) : "-", found.given_peak_bytes, found.peak_bytes,
             found.lower_bound_bytes, found.optimal ? "proven" : fmt::format("{:.1f} %", gap), found_s);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  auto wanted = [&](const std::string& name) {
    for (int i = 1; i < argc; ++i)
      if (name == argv[i]) return true;
    return argc == 1;
  };
  fmt::print(
      "| network | operators | given, no overlap | plain search | s | given | found | lower bound | gap | s |\n");
  fmt::print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const graph::NamedNetwork& n : graph::named_networks())
    if (wanted(n.name)) print_row(n.name, n.make(Type::int8));
  if (wanted("watts_strogatz_300"))
    print_row("watts_strogatz_300", graph::watts_strogatz({.nodes = 30, .stages = 3, .seed = 7}));
  if (wanted("watts_strogatz_1000"))
    print_row("watts_strogatz_1000", graph::watts_strogatz({.nodes = 85, .stages = 3, .seed = 3}));
  if (wanted("watts_strogatz_10000"))
    print_row("watts_strogatz_10000", graph::watts_strogatz({.nodes = 833, .stages = 3, .seed = 3}));
}
