// Where the things are that the build makes for the emulator: firmware and plugin.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace linnet::board {

// A file by its name relative to the build tree ("firmware/runner-mps2-an386.elf"): looked for in $LINNET_ARTIFACTS,
// then in the program's own directory and those above it, each also with lib/linnet appended (an installation). Throws
// Error that says what is missing and how to get it.
std::filesystem::path find_artifact(const std::string& name, std::string_view how_to_get_it);

// The prebuilt firmware `name` for a board; also from the tree of its family, <core>/firmware, at the same places.
std::filesystem::path find_firmware(std::string_view name, std::string_view board);

}  // namespace linnet::board
