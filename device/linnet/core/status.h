// Status: the result of everything that can fail on the device. One machine word, no allocation, no exceptions.
//
// A Status is ok or refers to a Reason: a code to branch on and a sentence for people. Firmware built with LINNET_TEXTS=0
// contains no sentences; the code stays. What the sentence is about (node, tensor, a size) stands in a Where, filled by
// whoever knows it, so that a Status stays a register.
#pragma once
#include <stdint.h>

#ifndef LINNET_TEXTS
#define LINNET_TEXTS 1
#endif

namespace linnet {

enum class Code : uint8_t {
  ok = 0,
  malformed,      // a file is damaged or hostile: nothing of it can be trusted
  unsupported,    // well formed, but an operator, version, type or shape that is not covered
  out_of_memory,  // an arena is too small; Where::bytes says what it must hold
  mismatch,       // two things that do not belong together (Program and kernel table, model and plan, storage and Program)
  busy,           // the shared arena is in the middle of another interpreter's inference
  invalid_call,   // the caller's mistake: not initialised, index out of range, wrong size or alignment
  storage_fault,  // a block device failed, or its content was altered
  cancelled,
};

struct Reason {
  Code code;
  const char* text;  // a sentence without a full stop that names what would help
};

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
#if LINNET_TEXTS
  constexpr explicit Status(const Reason& reason) : reason_(&reason) {}
  constexpr bool ok() const { return reason_ == nullptr; }
  constexpr Code code() const { return reason_ ? reason_->code : Code::ok; }
  constexpr const char* text() const { return reason_ ? reason_->text : "ok"; }

 private:
  const Reason* reason_ = nullptr;
#else
  constexpr explicit Status(Code code) : code_(static_cast<uint32_t>(code)) {}
  constexpr bool ok() const { return code_ == 0; }
  constexpr Code code() const { return static_cast<Code>(code_); }
  constexpr const char* text() const { return ""; }

 private:
  uint32_t code_ = 0;  // a full word: returned in a register without an extension
#endif
};

// LINNET_ERROR(unsupported, "the filter has more than 4 dimensions") is a Status.
#if LINNET_TEXTS
#define LINNET_ERROR(code_name, sentence)                                                      \
  ([]() -> ::linnet::Status {                                                                  \
    static constexpr ::linnet::Reason reason{::linnet::Code::code_name, sentence};             \
    return ::linnet::Status(reason);                                                           \
  }())
#else
#define LINNET_ERROR(code_name, sentence) (::linnet::Status(::linnet::Code::code_name))
#endif

// Leaves the calling function with the status of `expression` unless that is ok.
#define LINNET_TRY(expression)                                        \
  do {                                                                \
    if (::linnet::Status linnet_status = (expression); !linnet_status.ok()) return linnet_status; \
  } while (false)

// What an error is about. -1 and 0 mean: nothing in particular.
struct Where {
  int32_t subgraph = -1;
  int32_t node = -1;    // index of the operator within its subgraph
  int32_t tensor = -1;  // index of the tensor within its subgraph
  uint32_t bytes = 0;   // a size that would do, for out_of_memory
};

// A value or the status that explains its absence. Small values only: it is returned by value.
template <class T>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : value_(value) {}           // NOLINT: implicit on purpose, as in `return value;`
  constexpr Result(Status status) : status_(status) {}   // NOLINT: `status` must not be ok
  constexpr bool ok() const { return status_.ok(); }
  constexpr Status status() const { return status_; }
  constexpr const T& value() const { return value_; }    // only after ok()

 private:
  Status status_;
  T value_{};
};

}  // namespace linnet
