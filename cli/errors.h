// How a verb ends other than well. what() is one sentence that names the thing and what would help.
#pragma once
#include "linnet/run/program_builder.h"

namespace linnet::cli {

enum ExitStatus : int { exit_done = 0, exit_no = 1, exit_bad_input = 2 };

class BadInput : public Error {  // status 2, as every Error
  using Error::Error;
};
class AnswerIsNo : public Error {  // status 1: it does not fit, it differs
  using Error::Error;
};
// Of a file's content with what is expected of it; the caller adds what that is.
class Mismatch : public Error {
  using Error::Error;
};

}  // namespace linnet::cli
