// Result<T>: a value or the errors that bad input caused. std::expected's spelling, [[nodiscard]].
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/invariant.hpp"

namespace orrery {

/// Why a request was refused. A new code only where some caller would react to it.
enum class ErrorCode { InvalidInput, NotFound, Conflict, Unavailable };

/// One thing wrong with an input: where, what about, what was found and needed, how to mend it.
struct Error {
  ErrorCode code = ErrorCode::InvalidInput;
  std::string file;     ///< Empty where the input is no file.
  int line = 0;         ///< From 1; 0 where no line is known.
  std::string subject;  ///< "job 3", "cluster.nodes", ...
  std::string message;  ///< "what was found, what was needed; how to mend it".

  /// `file:line: subject: message`, leaving out what is empty.
  std::string text() const {
    std::string out;
    if (!file.empty()) {
      out += file;
      if (line > 0) out += ":" + std::to_string(line);
      out += ": ";
    }
    if (!subject.empty()) out += subject + ": ";
    return out + message;
  }
};

/// All that is wrong with one input, in the order of the input.
using Errors = std::vector<Error>;

/// Holds a `T` or at least one `Error`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}

  Result(Error error) : held_(Errors{std::move(error)}) {}

  Result(Errors errors) : held_(std::move(errors)) {
    invariant(!std::get<Errors>(held_).empty(), "a failed Result names at least one error");
  }

  bool has_value() const { return std::holds_alternative<T>(held_); }

  explicit operator bool() const { return has_value(); }

  T& value() & {
    invariant(has_value(), "value() of a failed Result");
    return std::get<T>(held_);
  }

  const T& value() const& {
    invariant(has_value(), "value() of a failed Result");
    return std::get<T>(held_);
  }

  T&& value() && {
    invariant(has_value(), "value() of a failed Result");
    return std::get<T>(std::move(held_));
  }

  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

  const Errors& errors() const {
    invariant(!has_value(), "errors() of a successful Result");
    return std::get<Errors>(held_);
  }

 private:
  std::variant<T, Errors> held_;
};

/// Success without a value.
struct Done {};

using Status = Result<Done>;

}  // namespace orrery
