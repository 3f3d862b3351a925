// C++ and CMake text for a firmware that contains one Program and the kernels it uses.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/loaded_model.h"

namespace linnet::cli {

// `text` as a C++ identifier that is neither a keyword nor reserved nor a name that Linnet or compilers use.
std::string identifier(const std::string& text);

struct Sources {
  std::string header, source, cmake;
  uint32_t arena_bytes = 0;
  std::vector<std::string> kernels;  // C++ types
};

// `program`: with indices into `kernels`, which are the catalogue's.
Sources program_sources(const std::string& name, const LoadedModel& loaded, const std::vector<uint8_t>& program,
                        const std::vector<uint32_t>& kernels);

}  // namespace linnet::cli
