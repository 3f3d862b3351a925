// Whole networks on the host: time of one inference with the kernels of the catalogue.
//   networks MODEL.tflite... [--benchmark_...]
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>

#include "linnet/run/catalogue.h"
#include "linnet/run/session.h"

namespace {

using namespace linnet;

struct Network {
  std::vector<uint8_t> file;
  Model model;
  BuiltProgram program;
  std::unique_ptr<GuardedMemory> arena;
  Interpreter net;
};

void fill_inputs(Interpreter& net) {
  for (uint32_t i = 0; i < net.input_count(); ++i) {
    Tensor t = net.input(i);
    for (uint32_t b = 0; b < t.bytes(); ++b) {
      uint8_t byte = static_cast<uint8_t>(b * 37 + 11);
      if (t.type() == Type::float32 && b % 4 == 0) t.data<float>()[b / 4] = static_cast<float>(byte) / 128.0f - 1.0f;
      if (t.type() != Type::float32) t.data<uint8_t>()[b] = byte;
    }
  }
}

void run(benchmark::State& state, Network& network) {
  for (auto _ : state) {
    fill_inputs(network.net);  // inputs are overwritten by activations
    if (!network.net.run().ok()) state.SkipWithError("inference failed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::list<Network> networks;
  try {
    for (int i = 1; i < argc; ++i) {
      std::ifstream in(argv[i], std::ios::binary);
      if (!in) throw Error(std::string("cannot read ") + argv[i]);
      Network& n = networks.emplace_back();
      n.file.assign(std::istreambuf_iterator<char>(in), {});
      n.model = open_model({n.file.data(), n.file.size()});
      n.program = build_program(n.model, catalogue().table);
      n.arena = std::make_unique<GuardedMemory>(n.program.arena_bytes_ready());
      if (Status s = n.net.init({n.program.bytes.data(), n.program.bytes.size()}, *catalogue().table.kernels, n.arena->span()); !s.ok())
        throw Error(describe(s, n.net.where()));
      std::string name = std::filesystem::path(argv[i]).stem();
      benchmark::RegisterBenchmark(name.c_str(), [&n](benchmark::State& state) { run(state, n); })->Unit(benchmark::kMicrosecond);
    }
  } catch (const std::exception& e) {
    std::cerr << "networks: " << e.what() << "\n";
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
