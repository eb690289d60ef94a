#include "tests/system/fuzz/text_mutator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

namespace orrery::tests {
namespace {

constexpr std::size_t kKeysMax = 4'000;
constexpr std::size_t kSeenMax = 64;
constexpr std::size_t kPartBytesMax = 1'500;
constexpr std::size_t kPartsMax = 2'000;

/// Values at which readers differ.
constexpr auto kScalars = std::to_array<std::string_view>({
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "16",
    "17",
    "64",
    "255",
    "1000",
    "65536",
    "1000000",
    "99999999",
    "1e9",
    "1e30",
    "-0.5",
    "0.5",
    "0.25",
    "1.5",
    "1/2",
    "true",
    "false",
    "null",
    "~",
    "\"\"",
    "''",
    "[]",
    "{}",
    "[1, 2]",
    "[a, b]",
    "{a: 1}",
    "all",
    "any",
    "never",
    "1s",
    "30s",
    "5min",
    "1h",
    "2d",
    "1ms",
    "1ns",
    "100y",
    "-1s",
    "1KB",
    "1GiB",
    "16GB",
    "10Gbps",
    "50%",
    "100%",
    "150%",
    "0-3",
    "3-0",
    "0-1:0",
    "0,2,4",
    "*",
    "**",
    "&a 1",
    "*a",
    "a.b.c",
    "a/b",
    "../a",
    "${a}",
    "${a.b}",
    "${oc.env:A}",
    "h100",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    ".nan",
    ".inf",
    "0x10",
    "1_000",
    "é",
    "a b",
});

bool is_key_byte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '-' ||
         byte == '.' || byte == '/' || byte == '@' || byte == '+' || byte == '~' || byte == '"' ||
         byte == '\'';
}

std::string without_quotes(std::string_view key) {
  if (key.size() >= 2 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front())
    key = key.substr(1, key.size() - 2);
  return std::string(key);
}

/// Reads `key:` at `at`; sets where the value begins. Nothing where there is no key.
std::string key_at(std::string_view text, std::size_t at, std::size_t end, std::size_t& value) {
  std::size_t colon = at;
  while (colon < end && is_key_byte(text[colon])) ++colon;
  if (colon == at || colon >= end || text[colon] != ':') return {};
  const bool quoted = text[at] == '"' || text[at] == '\'';
  if (!quoted && colon + 1 < end && text[colon + 1] != ' ' && text[colon + 1] != '\n') return {};
  value = colon + 1;
  while (value < end && text[value] == ' ') ++value;
  return without_quotes(text.substr(at, colon - at));
}

/// The parts of lines: each ends where a line begins that is not indented further.
class LineParts {
 public:
  LineParts(std::string_view text, std::vector<TextPart>& out) : text_(text), out_(out) {}

  void read() {
    std::size_t begin = 0;
    while (begin < text_.size() && out_.size() < kPartsMax) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      read_line(begin, end);
      begin = end + 1;
    }
    close(0, text_.size());
  }

 private:
  void read_line(std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    while (at < end && text_[at] == ' ') ++at;
    if (at == end) return;
    close(at - begin, begin);
    while (at + 1 < end && text_[at] == '-' && text_[at + 1] == ' ') {
      open(at - begin, at, at + 2, {});
      at += 2;
      while (at < end && text_[at] == ' ') ++at;
    }
    std::size_t value = 0;
    std::string key = key_at(text_, at, end, value);
    if (!key.empty()) open(at - begin, at, value, std::move(key));
  }

  void open(std::size_t indent, std::size_t begin, std::size_t value, std::string key) {
    std::string parent;
    for (const std::size_t outer : open_)
      if (!out_[outer].key.empty()) parent = out_[outer].key;
    open_.push_back(out_.size());
    out_.push_back({.begin = begin,
                    .end = text_.size(),
                    .value = value,
                    .indent = indent,
                    .key = std::move(key),
                    .parent = std::move(parent)});
  }

  void close(std::size_t indent, std::size_t at) {
    while (!open_.empty() && out_[open_.back()].indent >= indent) {
      TextPart& part = out_[open_.back()];
      part.end = at;
      part.value = std::min(part.value, at);
      open_.pop_back();
    }
  }

  std::string_view text_;
  std::vector<TextPart>& out_;
  std::vector<std::size_t> open_;
};

/// The parts within brackets, by commas. Quotes are passed over within a line.
void bracket_parts(std::string_view text, std::vector<TextPart>& out) {
  struct Level {
    std::size_t element;
    std::string parent;
  };

  std::vector<Level> levels;
  std::string line_key;
  const auto element_ends = [&](std::size_t at) {
    Level& level = levels.back();
    std::size_t begin = level.element;
    while (begin < at && std::isspace(static_cast<unsigned char>(text[begin])) != 0) ++begin;
    if (begin == at) return;
    std::size_t value = begin;
    std::string key = key_at(text, begin, at, value);
    out.push_back({.begin = begin,
                   .end = at,
                   .value = value,
                   .key = std::move(key),
                   .parent = level.parent,
                   .is_in_bracket = true});
  };
  for (std::size_t i = 0; i < text.size() && out.size() < kPartsMax; ++i) {
    const char byte = text[i];
    if (byte == '"' || byte == '\'') {
      const std::size_t end = text.find_first_of(byte == '"' ? "\"\n" : "'\n", i + 1);
      if (end != std::string_view::npos && text[end] == byte) i = end;
      continue;
    }
    if (byte == '{' || byte == '[') {
      // The key before it, by which what is in it is known.
      std::size_t value = 0;
      std::size_t from = levels.empty() ? text.rfind('\n', i) + 1 : levels.back().element;
      while (from < i && (text[from] == ' ' || text[from] == '-' || text[from] == '\n')) ++from;
      std::string key = key_at(text, from, i + 1, value);
      if (key.empty() && !levels.empty()) key = levels.back().parent;
      levels.push_back({i + 1, std::move(key)});
    } else if ((byte == '}' || byte == ']') && !levels.empty()) {
      element_ends(i);
      levels.pop_back();
    } else if (byte == ',' && !levels.empty()) {
      element_ends(i);
      levels.back().element = i + 1;
    }
  }
}

/// The cells of tables; their keys are the words of the first line.
void table_parts(std::string_view text, std::vector<TextPart>& out) {
  std::vector<std::string> header;
  std::size_t begin = 0;
  while (begin < text.size() && out.size() < kPartsMax) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const char separator = line.find('\t') != std::string_view::npos ? '\t' : ',';
    const bool is_row = std::count(line.begin(), line.end(), separator) >= 2 &&
                        line.find_first_of("{[") == std::string_view::npos;
    for (std::size_t cell = begin, column = 0; is_row && cell <= end; ++column) {
      const std::size_t cell_end = std::min(text.find(separator, cell), end);
      if (begin == 0 || header.size() <= column)
        header.emplace_back(text.substr(cell, std::min<std::size_t>(cell_end - cell, 40)));
      out.push_back({.begin = cell,
                     .end = cell_end,
                     .value = cell,
                     .key = "column " + header[column],
                     .is_in_bracket = true});
      cell = cell_end + 1;
    }
    if (is_row)  // The whole of it.
      out.push_back({.begin = begin, .end = end, .value = begin, .parent = "rows"});
    begin = end + 1;
  }
}

/// Lines after the first are moved from column `from` to column `to`.
std::string indented(std::string_view part, std::size_t from, std::size_t to) {
  std::string out;
  bool first = true;
  while (true) {
    const std::size_t end = part.find('\n');
    std::string_view line = part.substr(0, end);
    if (!first) {
      std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
      line.remove_prefix(spaces);
      spaces = spaces + to >= from ? spaces + to - from : 0;
      if (!line.empty()) out.append(spaces, ' ');
    }
    out.append(line);
    if (end == std::string_view::npos) return out;
    out += '\n';
    part.remove_prefix(end + 1);
    first = false;
  }
}

std::string_view without_end(std::string_view part) {
  while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back())) != 0)
    part.remove_suffix(1);
  return part;
}

/// A byte of it more, less, or another: what readers of short texts (ranges, sizes, addresses) look
/// for.
std::string another_text(std::string_view old, Random& random) {
  constexpr std::string_view kBytes = "0123456789012345678901-,:./*%+=_|& abcxyzKMGTs{}[]()\"'$#~";
  std::string out(without_end(old));
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
    const std::size_t at = random.below(out.size() + 1);
    const char byte = kBytes[random.below(kBytes.size())];
    switch (random.below(4)) {
      case 0:
        out.insert(at, 1, byte);
        break;
      case 1:
        if (at < out.size()) out.erase(at, 1 + random.below(3));
        break;
      case 2:
        if (at < out.size()) out[at] = byte;
        break;
      default:  // Again, as in lists and ranges.
        out.insert(at, byte + out.substr(0, std::min<std::size_t>(out.size(), 40)));
    }
  }
  return out;
}

std::string another_scalar(std::string_view old, Random& random) {
  if (old.size() < 200 && random.chance(0.4)) return another_text(old, random);
  // A number near the old one, or one of the values at which readers differ.
  std::size_t digits = 0;
  while (digits < old.size() && std::isdigit(static_cast<unsigned char>(old[digits])) != 0)
    ++digits;
  if (digits > 0 && digits < 10 && random.chance(0.5)) {
    const std::int64_t number = std::stoll(std::string(old.substr(0, digits)));
    const auto near = std::to_array<std::int64_t>(
        {number + 1, number - 1, number * 2, number / 2, number * 10, -number});
    return std::to_string(near[random.below(near.size())]) +
           std::string(without_end(old.substr(digits)));
  }
  return std::string(kScalars[random.below(kScalars.size())]);
}

}  // namespace

std::vector<TextPart> parts_of(std::string_view text) {
  std::vector<TextPart> out;
  LineParts(text, out).read();
  bracket_parts(text, out);
  table_parts(text, out);
  return out;
}

void TextMutator::keep(Seen& seen, std::string_view text, Random& random) {
  if (std::find(seen.begin(), seen.end(), text) != seen.end()) return;
  if (seen.size() < kSeenMax)
    seen.emplace_back(text);
  else
    seen[random.below(kSeenMax)] = text;
}

void TextMutator::learn(std::string_view text) {
  const auto seen_of = [](std::map<std::string, Seen>& all,
                          std::vector<std::string>& keys,
                          const std::string& key) -> Seen* {
    const auto found = all.find(key);
    if (found != all.end()) return &found->second;
    if (all.size() >= kKeysMax) return nullptr;
    keys.push_back(key);
    return &all[key];
  };
  for (const TextPart& part : parts_of(text)) {
    if (part.end - part.begin > kPartBytesMax) continue;
    const std::string_view whole = without_end(text.substr(part.begin, part.end - part.begin));
    // All as if at column 0, where they are moved from.
    if (Seen* seen = seen_of(entries_, entry_keys_, part.parent))
      keep(*seen, indented(whole, part.indent, 0), learning_);
    const std::string_view value = without_end(text.substr(part.value, part.end - part.value));
    if (part.key.empty() || value.empty()) continue;
    if (Seen* seen = seen_of(values_, value_keys_, part.key))
      keep(*seen, indented(value, part.indent, 0), learning_);
  }
}

std::string TextMutator::some_value(const std::string& key, Random& random) const {
  auto found = values_.find(key);
  if ((found == values_.end() || random.chance(0.1)) && !value_keys_.empty())
    found = values_.find(value_keys_[random.below(value_keys_.size())]);
  if (found == values_.end()) return "1";
  return found->second[random.below(found->second.size())];
}

std::string TextMutator::some_entry(const std::string& parent,
                                    bool in_bracket,
                                    Random& random) const {
  for (int tries = 0; tries < 4; ++tries) {
    auto found = entries_.find(parent);
    if ((found == entries_.end() || random.chance(0.2)) && !entry_keys_.empty())
      found = entries_.find(entry_keys_[random.below(entry_keys_.size())]);
    if (found == entries_.end()) break;
    const std::string& text = found->second[random.below(found->second.size())];
    if (!in_bracket || text.find('\n') == std::string::npos) return text;
  }
  return "a: 1";
}

std::string TextMutator::changed(const std::string& text, Random& random) const {
  const std::vector<TextPart> parts = parts_of(text);
  if (parts.empty()) return text;
  const TextPart& part = parts[random.below(parts.size())];
  const std::string_view all = text;
  const auto with = [&](std::size_t begin, std::size_t end, std::string_view middle) {
    return std::string(all.substr(0, begin)).append(middle).append(all.substr(end));
  };
  const std::string_view whole = all.substr(part.begin, part.end - part.begin);
  const std::string_view value = all.substr(part.value, part.end - part.value);
  const std::string_view end_of_value = value.substr(without_end(value).size());
  // Where a part is put before another of lines, it stands on lines of its own.
  const auto before = [&](std::string other) {
    other = indented(without_end(other), 0, part.indent);
    if (part.is_in_bracket) return other + ", ";
    return other + "\n" + std::string(part.indent, ' ');
  };
  switch (random.below(9)) {
    case 0:
    case 1:
      return with(part.value, part.end, another_scalar(value, random).append(end_of_value));
    case 2:
    case 3:
      return with(part.value,
                  part.end,
                  indented(some_value(part.key, random), 0, part.indent).append(end_of_value));
    case 4:
      return with(
          part.begin, part.begin, before(some_entry(part.parent, part.is_in_bracket, random)));
    case 5: {  // Without it. What indented it goes with it, or would indent what follows.
      std::size_t end = part.end;
      if (part.is_in_bracket && end < all.size() && all[end] == ',') ++end;
      std::size_t begin = part.begin;
      while (!part.is_in_bracket && begin > 0 && all[begin - 1] == ' ') --begin;
      if (begin > 0 && all[begin - 1] != '\n') begin = part.begin;
      return with(begin, end, "");
    }
    case 6: {  // Many times over, each a little different.
      constexpr auto kTimes = std::to_array<std::uint64_t>({1, 1, 1, 2, 3, 17, 40});
      std::string more;
      for (std::uint64_t left = kTimes[random.below(kTimes.size())]; left > 0; --left) {
        std::string again = indented(without_end(whole), part.indent, 0);
        for (char& byte : again)
          if (std::isdigit(static_cast<unsigned char>(byte)) != 0 && random.chance(0.3))
            byte = static_cast<char>('0' + random.below(10));
        if (random.chance(0.3) && !part.key.empty())
          again.insert(0, 1, static_cast<char>('a' + random.below(26)));
        more += before(std::move(again));
      }
      return with(part.begin, part.begin, more);
    }
    case 7: {  // The key of another.
      if (part.key.empty() || part.value == part.begin || value_keys_.empty()) return text;
      const std::string& key = value_keys_[random.below(value_keys_.size())];
      return with(part.begin, part.value, (part.is_in_bracket ? '"' + key + '"' : key) + ": ");
    }
    default: {  // The value of another part of the same text.
      const TextPart& other = parts[random.below(parts.size())];
      const std::string_view taken = without_end(all.substr(other.value, other.end - other.value));
      if (taken.size() > kPartBytesMax || (part.is_in_bracket && !other.is_in_bracket &&
                                           taken.find('\n') != std::string_view::npos))
        return text;
      return with(
          part.value, part.end, indented(taken, other.indent, part.indent).append(end_of_value));
    }
  }
}

std::string TextMutator::mutated(std::string_view text,
                                 std::size_t bytes_max,
                                 std::uint64_t seed) const {
  Random random(seed);
  std::string out(text);
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    std::string next = changed(out, random);
    if (next.size() <= bytes_max) out = std::move(next);
  }
  return out;
}

}  // namespace orrery::tests
