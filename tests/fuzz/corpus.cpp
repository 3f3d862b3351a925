// Writes the seeds of program_fuzz, plan_fuzz and inference_fuzz: small networks, their Programs and their plans.
//     fuzz_corpus tests/fuzz/corpus
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "linnet/plan/network_plan.h"
#include "linnet/run/catalogue.h"
#include "tests/fuzz/networks.h"

namespace {

void save(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace linnet;
  if (argc != 2) {
    std::cerr << "usage: fuzz_corpus FOLDER\n";
    return 2;
  }
  std::filesystem::path folder = argv[1];
  int i = 0;
  for (const std::vector<uint8_t>& file : fuzz::small_networks()) {
    std::string name = "network" + std::to_string(i);
    Model model = open_model({file.data(), file.size()});
    ProgramOptions options;
    options.origins = false;
    save(folder / "inference" / (name + ".tflite"), file);
    save(folder / "program" / (name + ".program"), build_program(model, catalogue().table, options).bytes);
    plan::NetworkOptions keep;
    keep.order = plan::OrderPolicy::keep;  // the fuzzer's networks are in the given order
    plan::NetworkPlan planned = plan::plan_network(model, catalogue().table, keep);
    std::vector<uint8_t> plan = planned.plan_file();
    plan.insert(plan.begin(), static_cast<uint8_t>(i));
    save(folder / "plan" / (name + ".plan"), plan);
    save(folder / "inference" / (name + "_planned.tflite"), plan::planned_model(planned, catalogue().table));
    ++i;
  }
}
