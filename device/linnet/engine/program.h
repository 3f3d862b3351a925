// Program: what the engine executes. A flat, position-independent, little-endian file of 8-byte records without pointers,
// laid out alike on every machine. DESIGN: "What a Program is".
//
//   Header | code: steps with their operands inline | tables: inputs, outputs, debug | parameters | weights
//
// `code` is all that the engine parses while running. Parameters are the structs that operators lowered, opaque here;
// weights are present in Programs made ahead of time, absent where constants stay in the .tflite (region model).
#pragma once
#include <stdint.h>

namespace linnet {

constexpr uint32_t program_magic = 0x504e4e4c;  // "LNNP"
constexpr uint32_t program_version = 1;
constexpr uint32_t program_alignment = 16;      // of the file in memory

// Where an operand lies. An operand's address is the base of its region plus its offset, resolved before each step.
enum Region : uint8_t {
  region_none = 0,    // an absent optional operand: null
  region_arena,       // activations and scratch
  region_arena2,      // the same in a second memory (fast or slow)
  region_persistent,  // state that lives as long as the interpreter
  region_program,     // parameters and weights in the Program itself: read only
  region_model,       // constants in the .tflite: read only
  region_storage,     // outside the address space: only load and store may name it
  region_reserved,
  region_caller,      // region_caller + i: buffer i that the caller owns
};
constexpr int max_caller_regions = 64;
constexpr int inline_caller_regions = 8;  // more cost 8 bytes each in the persistent region

enum Role : uint8_t { role_in = 0, role_constant, role_out, role_inout, role_scratch, role_accumulator, role_shape_only };

struct Slice {  // of records
  uint32_t offset;  // bytes from the start of the Program
  uint32_t count;
};

struct Operand {
  uint32_t offset;
  uint8_t region;
  uint8_t role;
  uint16_t tile;  // of a run_tile: 1 + index of the nest's TileOperand that says where it lies; else 0
};
static_assert(sizeof(Operand) == 8);

enum class StepKind : uint8_t {
  end = 0,      // of the Program
  run,          // params: parameters of the kernel; operands follow
  move,         // operands: to, from; params: bytes. The ranges may overlap
  branch,       // operand: one boolean; taken when false. params: bytes from the start of code to the target, forward
  jump,         // params: as branch
  loop,         // params: as branch, but backward: repeats a region that began at a `label`
  call,         // params: target; returns at `ret`
  ret,
  label,        // marks a place that loop and call may aim at
  nest,         // params: offset of a Nest (engine/nest.h); the body follows, up to nest_end
  nest_end,     // params: bytes from the start of code to the body
  run_tile,     // in a nest: like run, on a block. The last of its `operands` records is a TileRun
  load,         // in a nest: storage to a slot. kernel: index of the nest's TileOperand
  store,        // in a nest: a slot to storage, likewise
  fill,         // operand: to; params: bytes, all zero
  wait,         // until every request to storage has completed
};

// Operands follow their step immediately, so the next step stands at step + 1 + operands records.
struct Step {
  uint8_t kind;      // StepKind
  uint8_t operands;  // how many Operand records follow
  uint16_t kernel;   // of a run: index into the kernel table; the top bit says that the kernel walks down
  uint32_t params;   // of a run: offset of the parameters from the start of the Program; else see StepKind
};
static_assert(sizeof(Step) == 8);
constexpr uint16_t step_walks_down = 0x8000;

// An input or output of the network.
struct Port {
  Operand place;
  uint8_t type;  // Type
  uint8_t rank;
  uint8_t reserved[2];
  uint32_t bytes;
  uint32_t scale_bits;  // IEEE single precision; 0 if the tensor is not quantised or has a scale per channel
  int32_t zero_point;
  int32_t dims[6];
};
static_assert(sizeof(Port) == 48);

// Which operator a step came from, for people and profilers: one per step, in order.
struct StepOrigin {
  uint16_t subgraph;
  uint16_t node;
};

// Initial value of state that is not zero or does not lie in the persistent region, which starts as zeros (int8 variables
// start at their zero point).
struct StateFill {
  Operand place;
  uint32_t bytes;
  int32_t value;  // of each byte
};
static_assert(sizeof(StateFill) == 16);

struct Header {
  uint32_t magic;
  uint32_t version;
  uint32_t file_bytes;
  uint32_t kernels_hash;   // of the kernel table that the kernel indices mean
  uint32_t model_stamp;    // of the model's structure
  uint32_t weights_stamp;  // of its constants and scales
  uint32_t arena_bytes;    // sizes that the regions must have
  uint32_t arena2_bytes;
  uint32_t persistent_bytes;
  uint32_t model_bytes;    // 0: the .tflite need not be there
  uint32_t storage_bytes;
  uint16_t caller_buffers;
  uint16_t flags;
  Slice code;     // count in 8-byte records
  Slice inputs;   // of Port
  Slice outputs;  // of Port
  Slice origins;  // of StepOrigin; count 0 if left out
  Slice params;   // count in bytes
  Slice fills;    // of StateFill
};
static_assert(sizeof(Header) == 96);

}  // namespace linnet
