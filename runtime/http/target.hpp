// The target of a request: its path in parts and its query, decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::http {

/// A query's parameters, in order. Reading one takes it; what was not taken is unknown.
class Query {
 public:
  void add(std::string name, std::string value);

  /// The value of the first of this name that was not taken yet.
  std::optional<std::string> take(std::string_view name);

  /// Every value of this name.
  std::vector<std::string> take_all(std::string_view name);

  /// A whole number, `fallback` where there is none; what is no number in `low` to `high` is noted.
  std::uint64_t take_number(std::string_view name,
                            std::uint64_t fallback,
                            std::uint64_t low,
                            std::uint64_t high);

  /// "1", "true" or nothing at all is true, "0" and "false" are false; else it is noted.
  bool take_flag(std::string_view name);

  /// What is wrong: values that were noted, parameters that were not taken. `known` names those
  /// that there are.
  Errors errors(std::string_view known) const;

 private:
  struct Parameter {
    std::string name;
    std::string value;
    bool taken = false;
  };

  std::vector<Parameter> parameters_;
  Errors errors_;
};

struct Target {
  std::vector<std::string> parts;  ///< Of the path, decoded: {"api", "v1", "jobs"}.
  Query query;
};

/// Reads "/api/v1/jobs?phase=Running", also after "http://host". Errors: percent escapes that are
/// none, and paths that do not begin with a slash.
Result<Target> read_target(std::string_view text);

}  // namespace orrery::http
