// Writes the seeds of all fuzzers: small networks, their Programs and their plans, and files for the reader alone.
//     fuzz_corpus tests/fuzz/corpus
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "linnet/plan/network_plan.h"
#include "linnet/run/catalogue.h"
#include "linnet/storage/ram_device.h"
#include "tests/fuzz/kernel_numbers.h"
#include "tests/fuzz/kernel_seed.h"
#include "tests/fuzz/networks.h"
#include "tests/fuzz/tiled.h"
#include "tests/seams/bands.h"
#include "tests/seams/streamed.h"

namespace {

using namespace linnet;
using graph::NetworkBuilder;
using graph::per_tensor;

class Corpus {
 public:
  explicit Corpus(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void save(const std::string& fuzzer, const std::string& name, const std::vector<uint8_t>& bytes) const {
    std::filesystem::create_directories(folder_ / fuzzer);
    std::ofstream(folder_ / fuzzer / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void save(const std::string& fuzzer, const std::string& name, const NetworkBuilder& network) const { save(fuzzer, name, network.write()); }

  // A Program for a table whose kernels have these numbers, with kernels by number.
  void save_program(const std::string& name, std::vector<uint8_t> program, const KernelTable& table, const std::vector<uint16_t>& numbers) const {
    auto* header = reinterpret_cast<Header*>(program.data());
    require_loads(name, {program.data(), program.size()}, table);
    header->kernels_hash = fuzz::numbered_hash;
    auto* step = reinterpret_cast<Step*>(program.data() + header->code.offset);
    for (; static_cast<StepKind>(step->kind) != StepKind::end; step += 1 + step->operands)
      if (static_cast<StepKind>(step->kind) == StepKind::run || static_cast<StepKind>(step->kind) == StepKind::run_tile)
        step->kernel = static_cast<uint16_t>((step->kernel & step_walks_down) | numbers[step->kernel & (step_walks_down - 1u)]);
    save("program", name, program);
  }

 private:
  static void require_loads(const std::string& name, Bytes program, const KernelTable& table) {
    const Header& header = header_of(program.data());
    std::vector<uint8_t> arena(1 << 20), model(header.model_bytes), image(header.storage_bytes);
    RamDevice storage({image.data(), image.size()});
    Resources resources;
    resources.model = {model.data(), model.size()};
    resources.storage = &storage.device();
    Interpreter net;
    Status status = net.init(program, table, {arena.data(), arena.size()}, resources);
    if (!status.ok()) throw Error(name + " is refused: " + describe(status, net.where()));
  }

  std::filesystem::path folder_;
};

std::vector<uint16_t> catalogue_numbers() {
  std::vector<uint16_t> numbers;
  for (const KernelInfo& kernel : catalogue().kernels) numbers.push_back(fuzz::kernel_number(kernel.set.data(), kernel.computation.data()));
  return numbers;
}

// ---- networks, their Programs and their plans ---------------------------------------------------------------------------

void plan_seeds(const Corpus& corpus, const fuzz::SmallNetwork& network, const Model& model) {
  for (auto [memory, suffix] : {std::pair(plan::MemoryPolicy::fixed, "_planned"), std::pair(plan::MemoryPolicy::compacting, "_moving")})
    for (bool caller : {false, true}) {
      plan::NetworkOptions options;
      options.order = plan::OrderPolicy::keep;  // the fuzzer's networks are in the given order
      options.memory = memory;
      options.caller_inputs = options.caller_outputs = caller;
      plan::NetworkPlan planned = plan::plan_network(model, catalogue().table, options);
      std::vector<uint8_t> plan = planned.plan_file();
      uint16_t number = network.number();
      plan.insert(plan.begin(), {static_cast<uint8_t>(number), static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(caller ? 3 : 0), 0});
      corpus.save("plan", network.name + suffix + (caller ? "_caller" : ""), plan);
      if (!caller) corpus.save("inference", network.name + suffix + ".tflite", plan::planned_model(planned));
    }
}

// The kernels of a Program, each with its parameters, as a whole and as a block in the middle.
void kernel_seeds(const Corpus& corpus, const std::string& name, const BuiltProgram& program) {
  int i = 0;
  for (const plan::LayerStep& layer : plan::layer_steps(program, *catalogue().table.kernels)) {
    uint32_t kernel = layer.step->kernel & (step_walks_down - 1u);
    fuzz::KernelSeed seed = {catalogue_numbers()[kernel], layer.step->operands, fuzz::KernelSeed::first | fuzz::KernelSeed::last, UINT32_MAX, 1, {}, {}, {}};
    for (auto& axis : seed.out) axis[0] = 100, axis[1] = 128;
    for (auto& axis : seed.reduction) axis[1] = 128;
    std::vector<uint8_t> bytes(sizeof seed + catalogue().kernels[kernel].params_bytes);
    std::memcpy(bytes.data(), &seed, sizeof seed);
    std::memcpy(bytes.data() + sizeof seed, layer.params, bytes.size() - sizeof seed);
    corpus.save("kernel", name + std::to_string(i), bytes);
    seed.absent = 0;
    std::memcpy(bytes.data(), &seed, sizeof seed);
    corpus.save("kernel", name + std::to_string(i++) + "_all", bytes);
  }
}

void network_seeds(const Corpus& corpus) {
  for (const fuzz::SmallNetwork& network : fuzz::small_networks()) {
    Model model = open_model({network.file.data(), network.file.size()});
    corpus.save("inference", network.name + ".tflite", network.file);

    ProgramOptions options;
    options.origins = false;
    corpus.save_program(network.name, build_program(model, catalogue().table, options).bytes, *catalogue().table.kernels, catalogue_numbers());
    BuiltProgram built = build_program(model, catalogue().table, options);
    if (fuzz::is_straight(built))
      for (auto [form, suffix] : {std::pair(fuzz::Tiled::plain, "_pieces"), std::pair(fuzz::Tiled::buffers, "_tiles"), std::pair(fuzz::Tiled::slots, "_slots")})
        corpus.save_program(network.name + suffix, fuzz::in_tiles(built, form), *catalogue().table.kernels, catalogue_numbers());
    options.constants_in_model = options.caller_inputs = options.caller_outputs = true;
    corpus.save_program(network.name + "_outside", build_program(model, catalogue().table, options).bytes, *catalogue().table.kernels, catalogue_numbers());

    plan_seeds(corpus, network, model);
    kernel_seeds(corpus, network.name, built);
  }
}

// ---- layers in tiles of several shapes, chains in bands -----------------------------------------------------------------

std::vector<uint16_t> seam_numbers() {
  std::vector<uint16_t> numbers;
  for (uint32_t k = 0; k < seams::all_table().kernels->count; ++k)
    for (const KernelInfo& kernel : catalogue().kernels)
      if (kernel.set == "reference" && computation_id(kernel.computation.data()) == seams::all_table().facts[k].computation)
        numbers.push_back(fuzz::kernel_number(kernel.set.data(), kernel.computation.data()));
  return numbers;
}

void streamed_seed(const Corpus& corpus, const std::string& name, Type type, const seams::Cut& cut) {
  NetworkBuilder n(2);
  n.output(n.conv_2d(n.input(type, {1, 4, 3, 4}, type == Type::int8 ? per_tensor(0.05f) : graph::Quantization()), {.channels = 4, .kernel = {3, 3}}));
  seams::InCore in_core(n, seams::all_table(), true);
  corpus.save_program(name, seams::stream(in_core, seams::all_table(), cut).program, *seams::all_table().kernels, seam_numbers());
}

void nest_seeds(const Corpus& corpus) {
  streamed_seed(corpus, "streamed_int8", Type::int8, {.rows = 2, .columns = 2, .channels = 4, .filter_rows = 2, .in_channels = 4});
  streamed_seed(corpus, "streamed_strided", Type::int8, {.rows = 2, .columns = 3, .channels = 2, .in_channels = 2, .packed_weights = false});
  streamed_seed(corpus, "streamed_float32", Type::float32, {.rows = 2, .columns = 3, .channels = 4, .filter_rows = 1, .filter_columns = 1, .slots = 2, .prefetch = 1});
  NetworkBuilder n(3);
  int x = n.input(Type::int8, {1, 6, 4, 2}, per_tensor(0.05f));
  x = n.depthwise_conv_2d(n.conv_2d(x, {.channels = 2, .kernel = {3, 3}}), {.channels = 2, .kernel = {3, 3}});
  n.output(n.relu(n.max_pool_2d(x, {})));
  seams::InCore in_core(n, seams::all_table());
  corpus.save_program("bands", seams::in_bands(in_core, seams::all_table(), {2, 2, 1, 1}), *seams::all_table().kernels, seam_numbers());
}

// ---- the reader alone ---------------------------------------------------------------------------------------------------

void reader_convolutions(const Corpus& corpus, Type type) {
  NetworkBuilder n;
  graph::Quantization q = type == Type::float32 ? graph::Quantization() : per_tensor(0.1f);
  int x = n.input(type, {1, 4, 4, 2}, q);
  int y = n.depthwise_conv_2d(n.conv_2d(x, {.channels = 2, .kernel = {2, 2}}), {.channels = 2, .kernel = {2, 2}});
  n.output(n.softmax(n.fully_connected(n.reshape(n.max_pool_2d(y, {}), {1, -1}), {.channels = 2})));
  n.network.signatures.push_back({.key = "serve", .inputs = {{"x", x}}, .outputs = {{"y", 0}}});
  n.network.metadata.push_back({"linnet.plan", {1, 2, 3, 4}});
  corpus.save("reader", std::string("convolutions_") + type_name(type) + ".tflite", n);
}

void reader_shapes(const Corpus& corpus) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 3, 3, 1}, per_tensor(0.1f, 5));
  int y = n.pad(x, {{0, 0}, {1, 0}, {0, 1}, {0, 0}});
  y = n.strided_slice(n.transpose(y, {0, 2, 1, 3}), {.begin = {0, 0}, .end = {1, 2}, .strides = {1, 1}});
  n.output(n.mean(n.concatenation({y, y}, 3), {1, 2}));
  n.output(n.add(x, n.add({.type = Type::int8, .quantization = per_tensor(1), .data = {7}, .omit_shape = true})));
  corpus.save("reader", "shapes.tflite", n);
}

void reader_state(const Corpus& corpus, Type type) {
  NetworkBuilder n;
  graph::Quantization q = type == Type::float32 ? graph::Quantization() : per_tensor(0.1f);
  n.output(n.unidirectional_sequence_lstm(n.input(type, {1, 2, 2}, q), {.units = 2}));
  n.output(n.svdf(n.input(type, {1, 3}, q), {.units = 2, .memory = 2}));
  corpus.save("reader", std::string("state_") + type_name(type) + ".tflite", n);
}

void reader_branches(const Corpus& corpus) {
  NetworkBuilder n;
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::float32, {2});
  int then = n.add_subgraph("then");
  n.output(n.relu(n.input(Type::float32, {2})));
  int otherwise = n.add_subgraph("else");
  n.output(n.input(Type::float32, {2}));
  n.select_subgraph(0);
  n.output(n.if_(condition, {x}, then, otherwise, {{.shape = {2}}}));
  corpus.save("reader", "branches.tflite", n);
}

void reader_behind(const Corpus& corpus) {
  NetworkBuilder n;
  n.network.external_data = true;
  n.network.inline_offset = 1;
  int x = n.input(Type::float32, {1, 4});
  n.output(n.custom("Mine", {n.fully_connected(x, {.channels = 2, .weights = Type::int8})}, {.shape = {1, 2}}, {1, 2, 3}));
  n.tensor(x).shape_signature = {-1, 4};
  corpus.save("reader", "behind.tflite", n);
}

void reader_seeds(const Corpus& corpus) {
  for (Type type : {Type::float32, Type::int8, Type::int16}) reader_convolutions(corpus, type);
  reader_shapes(corpus);
  reader_state(corpus, Type::float32);
  reader_state(corpus, Type::int8);
  reader_branches(corpus);
  reader_behind(corpus);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_corpus FOLDER\n";
    return 2;
  }
  try {
    Corpus corpus(argv[1]);
    reader_seeds(corpus);
    network_seeds(corpus);
    nest_seeds(corpus);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
