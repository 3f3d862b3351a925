// Maximum flow = minimum cut, after Dinic (1970): repeated blocking flows along shortest paths.
#pragma once

#include <cstddef>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace linnet::plan {

class MinCut {
 public:
  static constexpr int64_t kUnbounded = int64_t{1} << 60;

  explicit MinCut(size_t nodes) : edges_of_(nodes) {}

  void add_edge(int32_t from, int32_t to, int64_t capacity);

  // Stops early, with a flow of at least `enough`, when that is reached.
  int64_t solve(int32_t source, int32_t sink, int64_t enough = kUnbounded);

 private:
  struct Edge {
    int32_t to;
    int64_t room;
  };

  bool measure(int32_t source, int32_t sink);
  int64_t push(int32_t source, int32_t sink);

  std::vector<Edge> edges_;  // edge i and its reverse i ^ 1
  std::vector<std::vector<int32_t>> edges_of_;
  std::vector<int32_t> distance_;
  std::vector<size_t> next_;
};

}  // namespace linnet::plan
