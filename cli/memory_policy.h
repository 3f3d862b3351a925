// --memory of the verbs that make Programs.
#pragma once
#include <fmt/format.h>

#include <string>

#include "cli/errors.h"
#include "linnet/plan/planned_build.h"

namespace linnet::cli {

inline plan::MemoryPolicy chosen_memory(const std::string& word) {
  if (auto policy = plan::memory_policy(word)) return *policy;
  throw BadInput(fmt::format("--memory {}: {}; it is `static` or `compacting`", word,
                             word == "swap" ? "not available yet" : "there is no such policy"));
}

}  // namespace linnet::cli
