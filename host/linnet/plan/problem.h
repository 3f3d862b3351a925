// The planner's two problems and their answers, as plain data: in which order operators run, and where buffers lie.
//
// Nothing here knows a .tflite file or an operator by name. All sizes, offsets and distances are bytes in int64_t;
// operators, tensors and buffers are named by their index. Given the same problem the answers are the same every time,
// unless a time limit cuts the search short.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace linnet::plan {

struct Limits {
  double time_limit_s = 10.0;  // wall clock for the whole call
  int64_t target_bytes = 0;    // a plan this small or smaller is good enough: stop looking for better ones
};

// ---- placement -----------------------------------------------------------------------------------------------------

// A buffer occupies [offset, offset + size_bytes) during every step from first_step to last_step, both included.
struct Buffer {
  int64_t size_bytes = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t alignment = 1;                 // offset is a multiple of it
  std::optional<int64_t> pinned_offset;  // the offset is given (it must itself be aligned)
};

// What a kernel's lag allows: `input` is read for the last time, and `output` written for the first time, by `step`.
// They may share bytes if the step walks upwards and input start >= output start + forward_bytes, or if it walks
// downwards and output end >= input end + backward_bytes. An absent distance means never in that direction. An overlap
// between buffers that do not meet in exactly this one step is ignored: there the bytes would still be needed.
struct Overlap {
  int64_t step = 0;
  int32_t input = 0;
  int32_t output = 0;
  std::optional<int64_t> forward_bytes;
  std::optional<int64_t> backward_bytes;
};

struct PlacementProblem {
  std::vector<Buffer> buffers;
  std::vector<Overlap> overlaps;
};

enum class Direction : uint8_t { up, down };

struct StepDirection {
  int64_t step = 0;
  Direction direction = Direction::up;
};

struct Placement {
  std::vector<int64_t> offsets;           // by buffer
  std::vector<StepDirection> directions;  // of every step that has an Overlap, ascending; of all other steps: up
  int64_t arena_bytes = 0;                // largest offset + size
  int64_t lower_bound_bytes = 0;          // no placement is smaller
  bool optimal = false;                   // arena_bytes == lower_bound_bytes
};

// After `after_step` and before the next, `buffer` moves to `offset`. Moves of one gap happen one after the other, in the
// order of the list.
struct Move {
  int64_t after_step = 0;
  int32_t buffer = 0;
  int64_t offset = 0;
};

// A placement in which buffers may move between steps: `offsets` are where they begin, `arena_bytes` covers all they have.
struct MovingPlacement : Placement {
  std::vector<Move> moves;  // ascending by step
  int64_t moved_bytes = 0;  // sum of the sizes of what moves
};

// ---- order ---------------------------------------------------------------------------------------------------------

// A tensor lives from the step that produces it (from the start, if no operator does) through its last reader. A kept
// tensor (graph output, state) lives on to the end; an unread, unkept one dies with the step that produced it.
struct Tensor {
  int64_t size_bytes = 0;
  bool kept = false;
};

struct Operator {
  std::vector<int32_t> inputs;   // tensors; repeats are harmless
  std::vector<int32_t> outputs;  // tensors, each produced by one operator only
  int64_t scratch_bytes = 0;     // needed while it runs
};

// `before` runs before `after` although no tensor says so (readers and writers of state).
struct OrderingEdge {
  int32_t before = 0;
  int32_t after = 0;
};

// Bytes that need not be counted twice while `op` runs, if `input` dies with it. Each input and each output takes part
// in one saving at most; the best such choice counts.
struct Saving {
  int32_t op = 0;
  int32_t input = 0;
  int32_t output = 0;
  int64_t size_bytes = 0;
};

struct OrderProblem {
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  std::vector<OrderingEdge> edges;
  std::vector<Saving> savings;
  std::vector<int32_t> given_order;  // empty: 0, 1, 2, ...
};

struct Order {
  std::vector<int32_t> operators;  // in the order they run
  int64_t peak_bytes = 0;          // most live bytes at any step
  int64_t given_peak_bytes = 0;    // the same for the given order
  int64_t lower_bound_bytes = 0;   // no order has a smaller peak
  bool optimal = false;            // peak_bytes == lower_bound_bytes
};

}  // namespace linnet::plan
