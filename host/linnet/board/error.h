#pragma once

#include <stdexcept>

namespace linnet::board {

// One sentence that names the thing and what would help; meant to be shown as it is.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace linnet::board
