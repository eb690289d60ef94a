#include "tools/sweep/cell_list.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/base/number_text.hpp"

namespace orrery::cli {
namespace {

/// The ends of "7" or "7-9".
std::optional<std::pair<std::size_t, std::size_t>> ends_of(std::string_view part) {
  const std::size_t dash = part.find('-');
  const auto first = parsed_number<std::size_t>(part.substr(0, dash));
  const auto last = dash == part.npos ? first : parsed_number<std::size_t>(part.substr(dash + 1));
  if (!first || !last || *first == 0 || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

Result<std::vector<std::size_t>> cell_list(std::string_view option,
                                           std::string_view text,
                                           std::size_t cells) {
  std::set<std::size_t> numbers;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto ends = ends_of(rest.substr(0, comma));
    if (!ends)
      return Error{.subject = std::string(option),
                   .message = "\"" + std::string(text) +
                              "\" found, needed numbers of cells; write for example 3 or 1,4,7-9"};
    if (ends->second > cells)
      return Error{.subject = std::string(option),
                   .message = "cell " + std::to_string(ends->second) + " found, the sweep has " +
                              std::to_string(cells) + " cells; see --dry-run"};
    for (std::size_t number = ends->first; number <= ends->second; ++number) numbers.insert(number);
    if (comma == rest.npos) return std::vector<std::size_t>(numbers.begin(), numbers.end());
    rest.remove_prefix(comma + 1);
  }
}

std::string cell_list_text(const std::vector<std::size_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    out += (out.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end > i) out += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return out;
}

}  // namespace orrery::cli
