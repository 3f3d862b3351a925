// The runner: a firmware that takes any model or Program that the host places in memory and runs it.
//
// Blobs: 0 model or Program, 1 .. 13 inputs, 14 node table (below). Words of the command line:
//   arena=BYTES    arena to use; all free memory otherwise        runs=N       inferences (default 1)
//   out=FILE       all outputs of the last inference, in order     program=FILE the Program, as built or given
//   steps          marks each step as a phase for the counter, instead of the whole inference
// Reports `key value` lines on standard output. Exit status: 0 done, 1 the network could not run (line `error`), 2 usage.
#include "linnet/model.h"
#include "port.h"
#include "runner/tables.h"

namespace {

using namespace linnet;

// Phases for the counting emulator.
enum Phase : uint32_t { phase_boot = 0, phase_init = 1, phase_inference = 2, phase_report = 3, phase_first_step = 16 };

constexpr uint32_t first_input_blob = 1;
constexpr uint32_t max_inputs = 13;
constexpr uint32_t node_blob = 14;

// What the host wants checksums of: `bytes` at `place` once `end_step` steps are done.
struct NodeRecord {
  uint32_t end_step;
  Operand place;
  uint32_t bytes;
};

void report(const char* key, uint32_t value) {
  port::put_string(key);
  port::put_string(" ");
  port::put_decimal(value);
  port::put_string("\n");
}

int fail(Status status, const Where& where) {
  port::put_string("error ");
  report("code", static_cast<uint32_t>(status.code()));
  if (where.subgraph >= 0) report("subgraph", static_cast<uint32_t>(where.subgraph));
  if (where.node >= 0) report("node", static_cast<uint32_t>(where.node));
  if (where.tensor >= 0) report("tensor", static_cast<uint32_t>(where.tensor));
  if (where.bytes != 0) report("need_bytes", where.bytes);
  port::put_string("text ");
  port::put_string(status.text());
  port::put_string("\n");
  return 1;
}

bool starts_with(const char* text, const char* prefix, const char** rest) {
  while (*prefix)
    if (*text++ != *prefix++) return false;
  *rest = text;
  return true;
}

uint32_t number(const char* text) {
  uint32_t n = 0;
  for (; *text >= '0' && *text <= '9'; ++text) n = n * 10 + static_cast<uint32_t>(*text - '0');
  return n;
}

struct Request {
  uint32_t arena_bytes = UINT32_MAX;
  uint32_t runs = 1;
  const char* out = nullptr;
  const char* program = nullptr;
  bool steps = false;
};

bool parse(char* words, Request& request) {
  port::next_word(&words);  // the name of the firmware
  while (const char* word = port::next_word(&words)) {
    const char* value;
    if (starts_with(word, "arena=", &value)) request.arena_bytes = number(value);
    else if (starts_with(word, "runs=", &value)) request.runs = number(value);
    else if (starts_with(word, "out=", &value)) request.out = value;
    else if (starts_with(word, "program=", &value)) request.program = value;
    else if (starts_with(word, "steps", &value)) request.steps = true;
    else return false;
  }
  return true;
}

// CRC-32 (IEEE 802.3), bit by bit: small, and only run when asked for.
uint32_t crc32(const uint8_t* data, uint32_t bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (uint32_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

Span<uint8_t> arena_memory(const Request& request) {
  port::Bytes free = port::free_memory();
  return {free.data, free.bytes < request.arena_bytes ? free.bytes : request.arena_bytes};
}

Interpreter net;
Model model;

Status initialise(const Request& request, Where& where) {
  port::Bytes blob = port::blob(0);
  Bytes file(blob.data, blob.bytes);
  Span<uint8_t> arena = arena_memory(request);
  bool is_program = file.size() >= 4 && load_unaligned<uint32_t>(file.data()) == program_magic;
  port::phase(phase_init);
  Status status;
  if (is_program) {
    status = net.init(file, kernel_table(), arena);
  } else if (status = Model::open(file, model, where); status.ok()) {
    status = net.init(model, build_table(), arena);
  } else {
    port::phase(phase_report);
    return status;
  }
  port::phase(phase_report);
  where = net.where();
  return status;
}

bool set_inputs() {
  for (uint32_t i = 0; i < net.input_count(); ++i) {
    Tensor input = net.input(i);
    port::Bytes blob = i < max_inputs ? port::blob(first_input_blob + i) : port::Bytes{nullptr, 0};
    if (blob.bytes != 0 && blob.bytes != input.bytes()) return false;
    if (blob.bytes == 0) __builtin_memset(input.data<uint8_t>(), 0, input.bytes());
    else __builtin_memcpy(input.data<uint8_t>(), blob.data, input.bytes());
  }
  return true;
}

// One inference, step by step: a phase for each, checksums of the nodes that ask for them.
Status run_in_steps(bool phases) {
  port::Bytes blob = port::blob(node_blob);
  const NodeRecord* nodes = reinterpret_cast<const NodeRecord*>(blob.data);
  uint32_t node_count = blob.bytes / sizeof(NodeRecord), next = 0;
  for (uint32_t step = 1;; ++step) {
    if (phases) port::phase(phase_first_step + step - 1);
    Progress progress = net.step();
    if (phases) port::phase(phase_report);
    if (progress != Progress::more) return net.status();
    for (; next < node_count && nodes[next].end_step <= step; ++next) {
      port::put_string("crc ");
      port::put_hex(crc32(net.address(nodes[next].place), nodes[next].bytes));
      port::put_string("\n");
    }
  }
}

Status infer(const Request& request) {
  if (request.steps || port::blob(node_blob).bytes != 0) return run_in_steps(request.steps);
  port::phase(phase_inference);
  Status status = net.run();
  port::phase(phase_report);
  return status;
}

bool write_file(const char* path, const uint8_t* data, uint32_t bytes, int32_t handle) {
  if (handle < 0) handle = port::open(path, port::OpenMode::write);
  return handle >= 0 && port::write(handle, data, bytes) == bytes;
}

bool write_outputs(const char* path) {
  int32_t handle = port::open(path, port::OpenMode::write);
  bool ok = handle >= 0;
  for (uint32_t i = 0; ok && i < net.output_count(); ++i) {
    Tensor output = net.output(i);
    ok = write_file(path, output.data<uint8_t>(), output.bytes(), handle);
  }
  return port::close(handle) && ok;
}

bool write_program(const char* path) {
  int32_t handle = port::open(path, port::OpenMode::write);
  bool ok = handle >= 0 && write_file(path, net.program(), header_of(net.program()).file_bytes, handle);
  return port::close(handle) && ok;
}

int usage(const char* text) {
  port::put_string("error code 2\ntext ");
  port::put_string(text);
  port::put_string("\n");
  return 2;
}

}  // namespace

int main() {
  static char words[512];
  Request request;
  if (port::command_line(words, sizeof words) && !parse(words, request)) return usage("unknown word on the command line");
  if (port::blob(0).bytes == 0) return usage("no model was placed in memory");
  Where where;
  if (Status status = initialise(request, where); !status.ok()) return fail(status, where);
  port::paint_stack();
  uint32_t stack_bytes = 0;
  for (uint32_t i = 0; i < request.runs; ++i) {
    net.reset();
    if (!set_inputs()) return usage("an input has another size than the network's");
    if (Status status = infer(request); !status.ok()) return fail(status, net.where());
    stack_bytes = port::stack_bytes();
  }
  report("activation_bytes", net.activation_bytes());
  report("persistent_bytes", net.persistent_bytes());
  report("arena_bytes", net.arena_bytes());
  report("interpreter_bytes", sizeof(Interpreter));
  report("stack_bytes", stack_bytes);
  if (request.out && !write_outputs(request.out)) return usage("the outputs cannot be written");
  if (request.program && !write_program(request.program)) return usage("the Program cannot be written");
  report("done", 1);
  return 0;
}
