// Result<T>: a value or the errors that bad input caused. std::expected's spelling, [[nodiscard]].
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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

/// Holds a `T` or at least one `Error`. A union by hand: a variant in its place takes twice as long
/// to compile or more, for each `T` in each source (docs/performance.md).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), has_value_(true) {}

  Result(Error error) : errors_(), has_value_(false) { errors_.push_back(std::move(error)); }

  Result(Errors errors) : errors_(std::move(errors)), has_value_(false) {
    invariant(!errors_.empty(), "a failed Result names at least one error");
  }

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    take(std::move(other));
  }

  Result(const Result& other) requires std::is_copy_constructible_v<T> { take(other); }

  /// `other` may be what this holds: it is a copy by now. A `T` must not throw where it is moved.
  Result& operator=(Result other) {
    clear();
    take(std::move(other));
    return *this;
  }

  ~Result() { clear(); }

  bool has_value() const { return has_value_; }

  explicit operator bool() const { return has_value_; }

  T& value() & {
    invariant(has_value_, "value() of a failed Result");
    return value_;
  }

  const T& value() const& {
    invariant(has_value_, "value() of a failed Result");
    return value_;
  }

  T&& value() && {
    invariant(has_value_, "value() of a failed Result");
    return std::move(value_);
  }

  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

  const Errors& errors() const {
    invariant(!has_value_, "errors() of a successful Result");
    return errors_;
  }

 private:
  // What either held is neither before nor after.
  template <class Other>
  void take(Other&& other) {
    has_value_ = other.has_value_;
    if (has_value_) {
      ::new (static_cast<void*>(&value_)) T(std::forward<Other>(other).value_);
    } else {
      ::new (static_cast<void*>(&errors_)) Errors(std::forward<Other>(other).errors_);
    }
  }

  void clear() {
    if (has_value_) {
      value_.~T();
    } else {
      errors_.~Errors();
    }
  }

  union {
    T value_;
    Errors errors_;
  };

  bool has_value_;
};

/// Success without a value.
struct Done {};

using Status = Result<Done>;

}  // namespace orrery
