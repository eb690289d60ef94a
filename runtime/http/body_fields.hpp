// The fields of a JSON object in a request's body, read with all that is wrong with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::http {

/// One object whose values are plain. Reading a field takes it.
class BodyFields {
 public:
  /// Errors: text that is no JSON object. An empty body is an empty object.
  static Result<BodyFields> read(std::string_view text);

  std::optional<std::string> take_text(std::string_view name);

  /// A whole number in `low` to `high`.
  std::optional<std::int64_t> take_number(std::string_view name,
                                          std::int64_t low,
                                          std::int64_t high);

  bool take_flag(std::string_view name);

  /// What was wrong, and the fields that were not taken.
  Errors errors(std::string_view known) const;

 private:
  enum class Kind : std::uint8_t { Text, Whole, Flag, Other };

  struct Field {
    std::string name;
    Kind kind = Kind::Other;
    std::string text;  ///< As it would be written.
    std::int64_t whole = 0;
    bool flag = false;
    bool taken = false;
  };

  Field* find(std::string_view name);
  void note(const Field& field, const std::string& needed);

  std::vector<Field> fields_;
  Errors errors_;
};

/// Names of an object of numbers with their values, as profilings come: {"speed": 2.5}, also under
/// the one name "data". Errors: anything else, by name.
Result<std::vector<std::pair<std::string, double>>> read_numbers(std::string_view text);

}  // namespace orrery::http
