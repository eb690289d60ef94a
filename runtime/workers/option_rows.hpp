// A program's options as a table: how each is taken, and its line in the help.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/number_text.hpp"
#include "core/base/result.hpp"

namespace orrery::worker {

/// `250ms`, `1.5s`, `2m`. Error: something else, or more than a day.
Result<std::chrono::milliseconds> time_of(std::string_view text);

/// Error::subject is cut where it is long: it comes from a command line.
inline Error refused_option(std::string_view subject, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, std::string(subject.substr(0, 100)), std::move(message)};
}

/// One option of a program that keeps what it is asked for in an `Options`.
template <class Options>
struct OptionRow {
  /// Says what is needed where the value is no good.
  using Take = std::function<std::optional<std::string>(Options&, std::string_view)>;

  std::string_view name;
  std::string_view value;  ///< Placeholder in the help; empty: a switch.
  std::string_view help;   ///< Empty: not in the help.
  Take take;

  static Take text(std::string Options::*member) {
    return [=](Options& options, std::string_view value) -> std::optional<std::string> {
      if (value.empty()) return "needs a value";
      options.*member = value;
      return std::nullopt;
    };
  }

  template <class T>
  static Take whole_number(T Options::*member, T least, T most) {
    return [=](Options& options, std::string_view text) -> std::optional<std::string> {
      const std::optional<T> value = parsed_number<T>(text);
      if (!value || *value < least || *value > most)
        return "needs a whole number from " + std::to_string(least) + " to " + std::to_string(most);
      options.*member = *value;
      return std::nullopt;
    };
  }

  static Take time(std::function<void(Options&, std::chrono::milliseconds)> set) {
    return [=](Options& options, std::string_view text) -> std::optional<std::string> {
      const Result<std::chrono::milliseconds> value = time_of(text);
      if (!value) return value.errors().front().message;
      set(options, *value);
      return std::nullopt;
    };
  }

  static Take flag(bool Options::*member) {
    return [=](Options& options, std::string_view) -> std::optional<std::string> {
      options.*member = true;
      return std::nullopt;
    };
  }
};

/// Reads `--name value` and `--name=value` into `out`. Returns all that is wrong with them.
template <class Options>
Errors take_options(std::span<const OptionRow<Options>> rows,
                    std::span<const char* const> arguments,
                    Options& out) {
  Errors errors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const auto row =
        std::ranges::find_if(rows, [&](const auto& each) { return each.name == name; });
    if (row == rows.end()) {
      errors.push_back(refused_option(name, "is no option; --help lists them"));
      continue;
    }
    if (row->value.empty() && value) {
      errors.push_back(refused_option(name, "is a switch and takes no value"));
      continue;
    }
    if (!row->value.empty() && !value) {
      if (i + 1 == arguments.size()) {
        errors.push_back(refused_option(name, "needs a value, " + std::string(row->value)));
        continue;
      }
      value = arguments[++i];
    }
    const std::optional<std::string> wrong = row->take(out, value.value_or(""));
    if (wrong)
      errors.push_back(
          refused_option(name, "\"" + std::string(value->substr(0, 100)) + "\": " + *wrong));
  }
  return errors;
}

/// The options' lines of a help.
template <class Options>
std::string option_lines(std::span<const OptionRow<Options>> rows) {
  std::string out;
  for (const OptionRow<Options>& row : rows) {
    if (row.help.empty()) continue;
    std::string left = "  " + std::string(row.name) + " " + std::string(row.value);
    left.resize(std::max<std::size_t>(left.size() + 1, 30), ' ');
    out += left + std::string(row.help) + "\n";
  }
  return out;
}

}  // namespace orrery::worker
