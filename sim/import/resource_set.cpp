#include "sim/import/resource_set.hpp"

#include <algorithm>
#include <charconv>

namespace orrery::sim {
namespace {

bool separates(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\n' || c == '\r'; }

// Reads a number at the beginning of `text` and takes it off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == UINT32_MAX) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

ResourceSet::ResourceSet(std::vector<ResourceRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ResourceRange& a, const ResourceRange& b) {
    return a.first < b.first;
  });
  for (const ResourceRange& next : ranges) {
    if (!ranges_.empty() &&
        (ranges_.back().last == UINT32_MAX || next.first <= ranges_.back().last + 1)) {
      ranges_.back().last = std::max(ranges_.back().last, next.last);
    } else {
      ranges_.push_back(next);
    }
  }
}

std::optional<ResourceSet> ResourceSet::parse(std::string_view text) {
  std::vector<ResourceRange> ranges;
  while (true) {
    while (!text.empty() && separates(text.front())) text.remove_prefix(1);
    if (text.empty()) return ResourceSet(std::move(ranges));
    const auto first = take_number(text);
    if (!first) return std::nullopt;
    ResourceRange range{*first, *first};
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      const auto last = take_number(text);
      if (!last || *last < *first) return std::nullopt;
      range.last = *last;
    }
    if (!text.empty() && !separates(text.front())) return std::nullopt;
    ranges.push_back(range);
  }
}

std::uint64_t ResourceSet::size() const {
  std::uint64_t size = 0;
  for (const ResourceRange& range : ranges_) size += std::uint64_t{range.last} - range.first + 1;
  return size;
}

std::string ResourceSet::text() const {
  std::string out;
  for (const ResourceRange& range : ranges_) {
    if (!out.empty()) out += ' ';
    out += std::to_string(range.first);
    if (range.last > range.first) out += '-' + std::to_string(range.last);
  }
  return out;
}

}  // namespace orrery::sim
