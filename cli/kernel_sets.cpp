#include "cli/kernel_sets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "cli/errors.h"

namespace linnet::cli {

std::unique_ptr<SmallTable> chosen_kernels(const std::string& set) {
  if (set.empty()) return nullptr;
  std::vector<uint32_t> kernels;
  std::set<std::string_view> sets;
  for (uint32_t i = 0; i < catalogue().kernels.size(); ++i) {
    sets.insert(catalogue().kernels[i].set);
    if (catalogue().kernels[i].set == set) kernels.push_back(i);
  }
  if (kernels.empty())
    throw BadInput(
        fmt::format("--kernels {}: there is no kernel set of that name; the sets are: {}", set, fmt::join(sets, ", ")));
  return std::make_unique<SmallTable>(std::move(kernels));
}

}  // namespace linnet::cli
