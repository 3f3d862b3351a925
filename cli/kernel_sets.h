// --kernels SET: which of the catalogue's kernels may be used.
#pragma once
#include <memory>
#include <string>

#include "linnet/run/program_file.h"

namespace linnet::cli {

// The kernels of one set; null for the empty name, which means all. Throws BadInput that lists the sets.
std::unique_ptr<SmallTable> chosen_kernels(const std::string& set);

}  // namespace linnet::cli
