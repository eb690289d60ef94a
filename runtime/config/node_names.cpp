#include "runtime/config/node_names.hpp"

#include <algorithm>
#include <cstdint>

#include "core/base/number_text.hpp"
#include "core/job/spec.hpp"

namespace orrery::runtime {
namespace {

std::optional<std::uint64_t> range_number(std::string_view text) {
  return text.size() > 18 ? std::nullopt : parsed_number<std::uint64_t>(text);
}

/// Splits at commas outside brackets; nothing where brackets do not match.
std::optional<std::vector<std::string_view>> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == ']') {
      if (inside == (c == '[')) return std::nullopt;
      inside = c == '[';
    } else if (c == ',' && (!inside || i == text.size())) {
      words.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (inside) return std::nullopt;
  return words;
}

/// What stands between brackets, as the texts that take its place. False where it is unsound.
bool numbers_of(std::string_view list, std::vector<std::string>& to) {
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : part.substr(dash + 1);
    const auto first = range_number(low);
    const auto last = range_number(high);
    if (!first || !last || *first > *last || *last - *first >= kNodeNamesMax) return false;
    for (std::uint64_t n = *first; n <= *last; ++n) {
      std::string digits = std::to_string(n);
      if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
      to.push_back(std::move(digits));
    }
    if (to.size() > kNodeNamesMax) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

/// All names of one word.
bool expand_word(std::string_view word, std::vector<std::string>& to) {
  if (word.empty()) return false;
  std::vector<std::string> begun{""};
  while (!word.empty()) {
    const std::size_t open = word.find('[');
    for (std::string& name : begun) name += word.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = word.find(']', open);
    std::vector<std::string> numbers;
    if (!numbers_of(word.substr(open + 1, close - open - 1), numbers) ||
        numbers.size() * begun.size() > kNodeNamesMax)
      return false;
    std::vector<std::string> longer;
    longer.reserve(numbers.size() * begun.size());
    for (const std::string& name : begun)
      for (const std::string& digits : numbers) longer.push_back(name + digits);
    begun = std::move(longer);
    word.remove_prefix(close + 1);
  }
  to.insert(to.end(), begun.begin(), begun.end());
  return to.size() <= kNodeNamesMax;
}

}  // namespace

std::optional<std::vector<std::string>> expand_node_names(std::string_view text) {
  const auto words = words_of(text);
  if (!words) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string_view word : *words)
    if (!expand_word(word, names)) return std::nullopt;
  return names;
}

std::string node_name_of_host(std::string_view host) {
  std::string name(host.substr(0, host.find('.')));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return is_dns_label(name) ? name : std::string();
}

}  // namespace orrery::runtime
