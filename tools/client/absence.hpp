// A controller that does not answer for a while, as during a restart.
#pragma once

#include <chrono>
#include <optional>

#include "core/base/result.hpp"
#include "tools/client/session.hpp"

namespace orrery::cli {

/// Bears with it for a minute.
class Absence {
 public:
  explicit Absence(Session& session) : session_(session) {}

  /// It did not answer, for that reason; told once, and after a minute for good: then
  /// `session.code()` is 5.
  void goes_on(const Errors& errors);

  /// It answers.
  void end() { since_.reset(); }

 private:
  Session& session_;
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace orrery::cli
