#include "tools/console/arguments.hpp"

#include <algorithm>
#include <limits>

#include "core/base/number_text.hpp"

namespace orrery::cli {
namespace {

/// "--nproc-per-node" of "--nproc_per_node".
std::string with_dashes(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

/// Takes the words of one command line apart.
class Parser {
 public:
  explicit Parser(const VerbSpec& verb) : verb_(verb) {}

  void option(std::string_view word, std::span<const std::string> words, std::size_t& at) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const OptionSpec* spec = find(with_dashes(name));
    if (spec == nullptr) {
      unknown(name);
      return;
    }
    auto& values = values_[std::string(spec->name)];
    if (!values.empty() && !spec->repeatable)
      fail(name, "given twice, needed once; keep one of them");
    if (spec->value.empty()) {
      if (equals != word.npos) fail(name, "has a value, needed none; write " + std::string(name));
      values.emplace_back();
    } else if (equals != word.npos) {
      take(*spec, std::string(word.substr(equals + 1)), values);
    } else if (at + 1 < words.size()) {
      take(*spec, words[++at], values);
    } else {
      fail(name, "no value follows, needed " + std::string(spec->value));
      values.emplace_back();
    }
  }

  void operand_count(std::size_t count) {
    const std::string needed = verb_.operands.empty() ? "none" : std::string(verb_.operands);
    const std::string operands = verb_.operands.empty() ? "" : " " + std::string(verb_.operands);
    const std::string usage =
        "; usage: orrery " + std::string(verb_.name) +
        (verb_.runs_command ? " [options]" + operands : operands + " [options]");
    if (count < static_cast<std::size_t>(verb_.operands_min)) {
      fail("", std::to_string(count) + " operands, needed " + needed + usage);
    } else if (verb_.operands_max >= 0 && count > static_cast<std::size_t>(verb_.operands_max)) {
      fail("", std::to_string(count) + " operands, needed " + needed + usage);
    }
  }

  Errors errors;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;

 private:
  const OptionSpec* find(std::string_view name) const {
    const auto at = std::ranges::find_if(verb_.options, [&](const OptionSpec& option) {
      return option.name == name || (!option.letter.empty() && option.letter == name);
    });
    return at == verb_.options.end() ? nullptr : &*at;
  }

  void fail(std::string_view option, std::string message) {
    std::string subject = "orrery " + std::string(verb_.name);
    if (!option.empty()) subject += ": " + std::string(option);
    errors.push_back({.subject = std::move(subject), .message = std::move(message)});
  }

  void unknown(std::string_view name) {
    std::vector<std::string_view> known{"--help"};
    for (const OptionSpec& option : verb_.options) known.push_back(option.name);
    const auto near = nearest(with_dashes(name), known);
    fail(name,
         "unknown option; " + (near ? "did you mean " + std::string(*near) + "?"
                                    : "see orrery help " + std::string(verb_.name)));
  }

  void take(const OptionSpec& spec, std::string value, std::vector<std::string>& values) {
    if (!spec.choices.empty() && std::ranges::find(spec.choices, value) == spec.choices.end()) {
      std::string choices;
      for (const std::string_view choice : spec.choices)
        choices += (choices.empty() ? "" : ", ") + std::string(choice);
      fail(spec.name, "\"" + value + "\" is no choice, needed one of " + choices);
    }
    values.push_back(std::move(value));
  }

  const VerbSpec& verb_;
};

}  // namespace

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto at = values_.find(option);
  if (at == values_.end()) return std::nullopt;
  return at->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto at = values_.find(option);
  return at == values_.end() ? std::vector<std::string>{} : at->second;
}

Result<Arguments> parse_arguments(const VerbSpec& verb, std::span<const std::string> words) {
  Arguments arguments;
  Parser parser(verb);
  bool only_operands = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (only_operands || word.size() < 2 || word[0] != '-') {
      arguments.operands_.push_back(word);
      only_operands = only_operands || verb.runs_command;
    } else if (word == "--") {
      only_operands = true;
    } else if (word == "-h" || word == "--help") {
      arguments.wants_help_ = true;
      return arguments;
    } else {
      parser.option(word, words, at);
    }
  }
  parser.operand_count(arguments.operands_.size());
  if (!parser.errors.empty()) return std::move(parser.errors);
  arguments.values_ = std::move(parser.values_);
  return arguments;
}

Result<std::uint64_t> whole_number(std::string_view option,
                                   std::string_view text,
                                   std::uint64_t low,
                                   std::uint64_t high) {
  const std::optional<std::uint64_t> number = parsed_number<std::uint64_t>(text);
  if (number && *number >= low && *number <= high) return *number;
  return Error{.subject = std::string(option),
               .message = "\"" + std::string(text) + "\" found, needed a whole number from " +
                          std::to_string(low) + " to " + std::to_string(high)};
}

Result<SeedRange> seed_range(std::string_view option,
                             std::string_view text,
                             std::uint64_t seeds_max) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const std::size_t dots = text.find("..");
  const auto first = whole_number(option, text.substr(0, dots), 0, kLargest);
  if (!first) return first.errors();
  if (dots == text.npos) return SeedRange{*first, *first};
  const auto last = whole_number(option, text.substr(dots + 2), 0, kLargest);
  if (!last) return last.errors();
  if (*last < *first)
    return Error{.subject = std::string(option),
                 .message = "\"" + std::string(text) +
                            "\" counts downwards, needed the lower seed first; write " +
                            std::to_string(*last) + ".." + std::to_string(*first)};
  if (*last - *first >= seeds_max)
    return Error{.subject = std::string(option),
                 .message = "\"" + std::string(text) + "\" is more than " +
                            std::to_string(seeds_max) + " seeds; take fewer"};
  return SeedRange{*first, *last};
}

Result<std::vector<std::string>> comma_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string part(text.substr(0, comma));
    if (part.empty())
      return Error{.subject = std::string(option),
                   .message =
                       "an empty element found, needed names joined by commas; remove the "
                       "comma too many"};
    if (std::ranges::find(parts, part) != parts.end())
      return Error{.subject = std::string(option),
                   .message = "\"" + part + "\" twice, needed once; remove one of them"};
    parts.push_back(part);
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

namespace {

/// Edits that lead from `a` to `b`: insert, delete, replace, swap neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known) {
  std::optional<std::string_view> best;
  std::size_t best_edits = 0;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edits(word, candidate);
    if (distance > std::max<std::size_t>(2, candidate.size() / 3)) continue;
    if (distance >= candidate.size()) continue;
    if (!best || distance < best_edits) {
      best = candidate;
      best_edits = distance;
    }
  }
  return best;
}

}  // namespace orrery::cli
