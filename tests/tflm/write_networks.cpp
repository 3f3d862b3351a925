// Writes the networks that operators can run in more than one order, as .tflite files.
//     write_networks DIRECTORY
#include <filesystem>
#include <fstream>
#include <iostream>

#include "linnet/graph/networks.h"

using namespace linnet;

namespace {

bool write(const std::filesystem::path& path, const std::vector<uint8_t>& file) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  return out.good();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: write_networks DIRECTORY\n";
    return 2;
  }
  std::filesystem::path directory = arguments[1];
  std::filesystem::create_directories(directory);
  for (const graph::NamedNetwork& network : graph::named_networks())
    if (network.branchy && !write(directory / (network.name + ".tflite"), network.make(Type::int8))) return 1;
  return 0;
}
