// The command line of one verb, taken apart as its VerbSpec says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

/// What stood on the command line after the verb.
class Arguments {
 public:
  const std::vector<std::string>& operands() const { return operands_; }

  bool has(std::string_view option) const { return values_.contains(option); }

  /// The value of an option; nothing where it was not given.
  std::optional<std::string> value(std::string_view option) const;

  /// All values of a repeatable option, in order.
  std::vector<std::string> values(std::string_view option) const;

  /// -h or --help stood anywhere: nothing else was checked.
  bool wants_help() const { return wants_help_; }

 private:
  friend Result<Arguments> parse_arguments(const VerbSpec& verb,
                                           std::span<const std::string> words);

  std::vector<std::string> operands_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  bool wants_help_ = false;
};

/// Accepts `--name value` and `--name=value` anywhere among the operands; after `--`, and after the
/// first operand of a verb that runs a command, all words are operands. An underscore in the name
/// of an option is read as a dash. Errors name every offence at once: an unknown option (with the
/// nearest known one), a value missing or not expected, an option given twice, a value that is no
/// choice, too few or too many operands.
Result<Arguments> parse_arguments(const VerbSpec& verb, std::span<const std::string> words);

/// A whole number from `low` to `high`, decimal digits only. `option` names it in the error.
Result<std::uint64_t> whole_number(std::string_view option,
                                   std::string_view text,
                                   std::uint64_t low,
                                   std::uint64_t high);

/// Seeds from `first` to `last`, both included.
struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;

  std::uint64_t count() const { return last - first + 1; }
};

/// "A..B" with A at most B, or one seed "A". At most `seeds_max` seeds.
Result<SeedRange> seed_range(std::string_view option,
                             std::string_view text,
                             std::uint64_t seeds_max = 100'000);

/// The elements of "a,b,c"; an empty or repeated one is an error.
Result<std::vector<std::string>> comma_list(std::string_view option, std::string_view text);

/// The known word nearest to `word` by edits (insert, delete, replace, swap neighbours), or nothing
/// where none is near.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known);

}  // namespace orrery::cli
