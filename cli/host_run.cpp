#include "cli/host_run.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>

#include "cli/errors.h"
#include "linnet/plan/planned_build.h"

namespace linnet::cli {
namespace {

constexpr size_t stack_size = 1 << 20;
constexpr size_t stack_margin = 256;  // below the measuring function's own frame
constexpr uint8_t paint = 0xA7;

struct Measured {
  const std::function<void()>* action;
  uint8_t* stack;
  size_t used = 0;
  std::exception_ptr error;
};

__attribute__((noinline, no_sanitize("address"))) void paint_and_call(Measured& measured) {
  uint8_t* here = static_cast<uint8_t*>(__builtin_frame_address(0)) - stack_margin;
  volatile uint8_t* low = measured.stack;
  for (volatile uint8_t* p = low; p < here; ++p) *p = paint;
  try {
    (*measured.action)();
  } catch (...) {
    measured.error = std::current_exception();
  }
  while (low < here && *low == paint) ++low;
  measured.used = static_cast<size_t>(here - low);
}

// Runs `action` on a stack of its own and tells how much of it was used, in bytes.
uint32_t stack_bytes_of(const std::function<void()>& action) {
  std::vector<uint8_t> stack(stack_size + 64);
  uint8_t* first = stack.data() + (64 - reinterpret_cast<uintptr_t>(stack.data()) % 64);
  Measured measured{&action, first, 0, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, first, stack_size);
  pthread_t thread;
  auto body = [](void* given) -> void* {
    paint_and_call(*static_cast<Measured*>(given));
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, body, &measured) != 0) throw Error("no thread could be started");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (measured.error) std::rethrow_exception(measured.error);
  return static_cast<uint32_t>(measured.used);
}

// Memory for inputs and outputs that the Program leaves to its caller.
struct CallerBuffers {
  std::vector<std::vector<uint64_t>> buffers;

  void bind(Interpreter& net, const LoadedModel& loaded) {
    const Header& header = header_of(net.program());
    auto bind_all = [&](const Slice& slice, const std::vector<PortInfo>& ports, bool input) {
      for (uint32_t i = 0; i < slice.count; ++i) {
        if (ports_of(net.program(), slice)[i].place.region < region_caller) continue;
        void* data = buffers.emplace_back(ports[i].bytes / 8 + 1).data();
        Status status = input ? net.bind_input(i, data, ports[i].bytes) : net.bind_output(i, data, ports[i].bytes);
        if (!status.ok()) throw Error(status.text());
      }
    };
    bind_all(header.inputs, loaded.inputs(), true);
    bind_all(header.outputs, loaded.outputs(), false);
  }
};

const KernelTable& kernels_of(const RunOptions& options) { return *options.table->kernels; }

}  // namespace

std::string too_small(const std::string& path, uint32_t given, uint32_t need) {
  return fmt::format("{}: an arena of {} bytes is too small: the network needs {} bytes", path, given, need);
}

BuiltProgram built_for(const LoadedModel& loaded, const RunOptions& options) {
  ProgramOptions how;
  how.constants_in_model = options.built_on_device;
  return about_model(loaded, [&] {
    if (options.built_on_device) return build_program(loaded.model(), *options.table, how);
    plan::NetworkOptions quick = plan::quick_options();
    quick.memory = options.memory;
    return plan::build_planned(loaded.model(), *options.table, how, quick);
  });
}

MemoryNeed memory_need(const LoadedModel& loaded, const BuiltProgram* built, const RunOptions& options) {
  Bytes program = built ? Bytes(built->bytes.data(), built->bytes.size()) : loaded.program();
  const Header& header = header_of(program.data());
  uint32_t activations = align_up(header.arena_bytes, persistent_alignment);
  MemoryNeed need;
  need.activation_bytes = header.arena_bytes;
  need.scratch_bytes = scratch_bytes(program, kernels_of(options));
  if (built && options.built_on_device) {
    need.arena_bytes = built->arena_bytes_built();
    need.persistent_bytes =
        need.arena_bytes - std::max(activations, align_up(built->table_bytes, persistent_alignment));
  } else {
    need.persistent_bytes = align_up(header.persistent_bytes, persistent_alignment) + Interpreter::bases_bytes(header);
    need.arena_bytes = activations + need.persistent_bytes;
  }
  return need;
}

void require_straight_line(Bytes program) {
  for_each_step(program, [](const Step& step) {
    StepKind kind = static_cast<StepKind>(step.kind);
    if (kind != StepKind::run && kind != StepKind::move && kind != StepKind::fill && kind != StepKind::end)
      throw BadInput("--nodes: the network has control flow, so that its nodes do not simply follow one another");
  });
}

RunResult run_on_host(const LoadedModel& loaded, const std::vector<TensorBytes>& inputs, const RunOptions& options) {
  std::optional<BuiltProgram> built;
  if (!loaded.is_program()) built = built_for(loaded, options);
  bool on_device = built && options.built_on_device;
  Bytes program = built ? Bytes(built->bytes.data(), built->bytes.size()) : loaded.program();
  RunResult result;
  result.need = memory_need(loaded, built ? &*built : nullptr, options);
  if (built) result.moved_bytes = built->moved_bytes();

  GuardedMemory second(header_of(program.data()).arena2_bytes);  // not what --arena-size is about
  Resources resources;
  resources.arena2 = second.span();
  GuardedMemory arena(options.arena_bytes.value_or(result.need.arena_bytes));
  Interpreter net;
  Status status = on_device ? net.init(loaded.model(), *options.table, arena.span())
                            : net.init(program, kernels_of(options), arena.span(), resources);
  if (status.code() == Code::out_of_memory)
    throw AnswerIsNo(too_small(loaded.path(), static_cast<uint32_t>(arena.span().size()), result.need.arena_bytes));
  if (!status.ok())
    throw Error(loaded.path() + ": " + describe(status, net.where(), built ? &loaded.model() : nullptr));
  CallerBuffers buffers;
  buffers.bind(net, loaded);
  for (uint32_t i = 0; i < options.runs; ++i) {
    net.reset();
    auto once = [&] { result.outputs = infer(net, inputs); };
    if (i == 0)
      result.stack_bytes = stack_bytes_of(once);
    else
      once();
  }
  if (!arena.intact() || !second.intact()) throw Error(loaded.path() + ": the inference wrote outside its arena");
  if (options.node_checksums) {
    if (!built) throw BadInput("--nodes needs the .tflite: a Program does not know the tensors of its nodes");
    require_straight_line(program);
    result.nodes = node_crcs(*built, kernels_of(options), inputs, on_device ? loaded.model().file() : Bytes());
  }
  return result;
}

}  // namespace linnet::cli
