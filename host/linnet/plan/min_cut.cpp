#include "linnet/plan/min_cut.h"

#include <algorithm>

namespace linnet::plan {

void MinCut::add_edge(int32_t from, int32_t to, int64_t capacity) {
  edges_of_[static_cast<size_t>(from)].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[static_cast<size_t>(to)].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::measure(int32_t source, int32_t sink) {
  distance_.assign(edges_of_.size(), -1);
  distance_[static_cast<size_t>(source)] = 0;
  std::vector<int32_t> queue = {source};
  for (size_t head = 0; head < queue.size() && distance_[static_cast<size_t>(sink)] < 0; ++head) {
    for (int32_t e : edges_of_[static_cast<size_t>(queue[head])]) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.room == 0 || distance_[static_cast<size_t>(edge.to)] >= 0) continue;
      distance_[static_cast<size_t>(edge.to)] = distance_[static_cast<size_t>(queue[head])] + 1;
      queue.push_back(edge.to);
    }
  }
  return distance_[static_cast<size_t>(sink)] >= 0;
}

// One augmenting path along the measured distances; 0 when none is left.
int64_t MinCut::push(int32_t source, int32_t sink) {
  std::vector<int32_t> path;
  int32_t node = source;
  while (node != sink) {
    const std::vector<int32_t>& out = edges_of_[static_cast<size_t>(node)];
    size_t& next = next_[static_cast<size_t>(node)];
    while (next < out.size()) {
      const Edge& edge = edges_[static_cast<size_t>(out[next])];
      if (edge.room > 0 && distance_[static_cast<size_t>(edge.to)] == distance_[static_cast<size_t>(node)] + 1) break;
      ++next;
    }
    if (next < out.size()) {
      path.push_back(out[next]);
      node = edges_[static_cast<size_t>(out[next])].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[static_cast<size_t>(path.back()) ^ 1].to;
    path.pop_back();
    ++next_[static_cast<size_t>(node)];
  }
  int64_t amount = kUnbounded;
  for (int32_t e : path) amount = std::min(amount, edges_[static_cast<size_t>(e)].room);
  for (int32_t e : path) {
    edges_[static_cast<size_t>(e)].room -= amount;
    edges_[static_cast<size_t>(e) ^ 1].room += amount;
  }
  return amount;
}

int64_t MinCut::solve(int32_t source, int32_t sink, int64_t enough) {
  int64_t flow = 0;
  while (flow < enough && measure(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    for (int64_t amount = 1; amount > 0 && flow < enough;) flow += amount = push(source, sink);
  }
  return flow;
}

}  // namespace linnet::plan
