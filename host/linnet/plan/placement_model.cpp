#include "linnet/plan/placement_model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace linnet::plan {
namespace {

void check(const Buffer& b, size_t index) {
  const std::string who = "buffer " + std::to_string(index);
  if (b.size_bytes < 0) throw std::invalid_argument(who + " has a negative size");
  if (b.first_step > b.last_step) throw std::invalid_argument(who + " ends before it begins");
  if (b.alignment < 1) throw std::invalid_argument(who + " needs an alignment of at least 1");
  if (b.pinned_offset && (*b.pinned_offset < 0 || *b.pinned_offset % b.alignment != 0))
    throw std::invalid_argument(who + " is pinned to an offset that is negative or not aligned");
}

std::vector<int32_t> by_first_step(const PlacementModel& m) {
  std::vector<int32_t> order(m.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(m.items[static_cast<size_t>(a)].first, a) < std::pair(m.items[static_cast<size_t>(b)].first, b);
  });
  return order;
}

}  // namespace

PlacementModel PlacementModel::make(const PlacementProblem& problem) {
  PlacementModel m;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& b = problem.buffers[i];
    check(b, i);
    if (b.size_bytes == 0) continue;
    m.granule = m.items.empty() ? b.alignment : std::gcd(m.granule, b.alignment);
    m.items.push_back({b.size_bytes, b.alignment, b.pinned_offset.value_or(-1), b.first_step, b.last_step,
                       static_cast<int32_t>(i)});
  }
  m.find_pairs();
  m.add_lags(problem);
  return m;
}

void PlacementModel::find_pairs() {
  pairs_of.resize(items.size());
  std::vector<int32_t> alive;
  for (int32_t i : by_first_step(*this)) {
    const Item& item = items[static_cast<size_t>(i)];
    std::erase_if(alive, [&](int32_t j) { return items[static_cast<size_t>(j)].last < item.first; });
    for (int32_t j : alive) {
      const int64_t other = items[static_cast<size_t>(j)].size;
      pairs_of[static_cast<size_t>(i)].push_back(static_cast<int32_t>(pairs.size()));
      pairs_of[static_cast<size_t>(j)].push_back(static_cast<int32_t>(pairs.size()));
      pairs.push_back({j, i, -1, {other, other}, {item.size, item.size}});
    }
    alive.push_back(i);
  }
}

// Where one lag alone belongs to a step, its direction follows from which of the two lies below.
void PlacementModel::add_lags(const PlacementProblem& problem) {
  std::vector<int32_t> item_of(problem.buffers.size(), -1);
  for (size_t i = 0; i < items.size(); ++i) item_of[static_cast<size_t>(items[i].buffer)] = static_cast<int32_t>(i);
  std::map<int64_t, std::vector<int32_t>> lags_at;
  std::map<std::pair<int32_t, int32_t>, int64_t> seen;
  for (const Overlap& o : problem.overlaps) {
    const auto count = static_cast<int64_t>(item_of.size());
    if (o.input < 0 || o.input >= count || o.output < 0 || o.output >= count || o.input == o.output)
      throw std::invalid_argument("an overlap at step " + std::to_string(o.step) + " names buffers that do not exist");
    const int32_t in = item_of[static_cast<size_t>(o.input)], out = item_of[static_cast<size_t>(o.output)];
    if (in < 0 || out < 0 || items[static_cast<size_t>(in)].last != o.step ||
        items[static_cast<size_t>(out)].first != o.step)
      continue;
    if (!seen.emplace(std::pair(o.input, o.output), o.step).second)
      throw std::invalid_argument("buffers " + std::to_string(o.input) + " and " + std::to_string(o.output) +
                                  " have two overlaps at step " + std::to_string(o.step));
    const int64_t in_size = items[static_cast<size_t>(in)].size, out_size = items[static_cast<size_t>(out)].size;
    const int64_t forward = std::min(out_size, o.forward_bytes.value_or(out_size));
    const int64_t backward = o.backward_bytes ? std::min(in_size, in_size + *o.backward_bytes - out_size) : in_size;
    lags_at[o.step].push_back(static_cast<int32_t>(lags.size()));
    lags.push_back({o.step, in, out, -1, {forward, out_size}, {in_size, backward}});
  }
  for (const auto& [step, indices] : lags_at) {
    const bool has_choice = indices.size() > 1;
    if (has_choice) steps.push_back({step, {}});
    for (int32_t index : indices) {
      Lag& lag = lags[static_cast<size_t>(index)];
      for (int32_t p : pairs_of[static_cast<size_t>(lag.input)]) {
        Pair& pair = pairs[static_cast<size_t>(p)];
        if (pair.a != lag.output && pair.b != lag.output) continue;
        lag.pair = p;
        auto output_below = lag.output_below, input_below = lag.input_below;
        if (!has_choice) output_below.fill(*std::min_element(output_below.begin(), output_below.end()));
        if (!has_choice) input_below.fill(*std::min_element(input_below.begin(), input_below.end()));
        pair.a_below = pair.a == lag.output ? output_below : input_below;
        pair.b_below = pair.a == lag.output ? input_below : output_below;
        if (!has_choice) continue;
        pair.step = static_cast<int32_t>(steps.size()) - 1;
        steps.back().pairs.push_back(p);
      }
    }
  }
}

int64_t PlacementModel::round_up(int64_t offset, int32_t item) const {
  const int64_t a = items[static_cast<size_t>(item)].alignment;
  return offset <= 0 ? 0 : (offset + a - 1) / a * a;
}

int64_t PlacementModel::round_down(int64_t offset, int32_t item) const {
  const int64_t a = items[static_cast<size_t>(item)].alignment;
  return offset < 0 ? -1 : offset / a * a;
}

std::vector<std::vector<int32_t>> PlacementModel::sections() const {
  std::vector<std::vector<int32_t>> sections;
  std::vector<int32_t> alive;
  bool grew = false;
  for (int32_t i : by_first_step(*this)) {
    const int64_t now = items[static_cast<size_t>(i)].first;
    const auto ended = [&](int32_t j) { return items[static_cast<size_t>(j)].last < now; };
    if (grew && std::any_of(alive.begin(), alive.end(), ended)) sections.push_back(alive);
    std::erase_if(alive, ended);
    alive.push_back(i);
    grew = true;
  }
  if (!alive.empty()) sections.push_back(alive);
  return sections;
}

bool PlacementModel::is_apart(const Pair& pair, const std::vector<int64_t>& offsets, size_t direction) const {
  const int64_t a = offsets[static_cast<size_t>(pair.a)], b = offsets[static_cast<size_t>(pair.b)];
  return b >= a + pair.a_below[direction] || a >= b + pair.b_below[direction];
}

}  // namespace linnet::plan
