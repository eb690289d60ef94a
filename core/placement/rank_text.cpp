#include "core/placement/rank_text.hpp"

#include <algorithm>

namespace orrery::placement {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_all(std::string_view text) {
  const auto is = [&](std::size_t i, char lower) {
    return text[i] == lower || text[i] == lower - 'a' + 'A';
  };
  return text.size() == 3 && is(0, 'a') && is(1, 'l') && is(2, 'l');
}

/// Digits only, at least one; kRankCeiling where the number is larger.
std::optional<std::int64_t> read_rank(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::int64_t rank = 0;
  for (const char c : text) rank = std::min(kRankCeiling, rank * 10 + (c - '0'));
  return rank;
}

}  // namespace

TextPiece trimmed(TextPiece piece) {
  while (!piece.text.empty() && is_blank(piece.text.front())) {
    piece.text.remove_prefix(1);
    ++piece.offset;
  }
  while (!piece.text.empty() && is_blank(piece.text.back())) piece.text.remove_suffix(1);
  return piece;
}

std::vector<TextPiece> split_trimmed(TextPiece piece, char separator) {
  std::vector<TextPiece> parts;
  while (true) {
    const std::size_t end = piece.text.find(separator);
    parts.push_back(trimmed({piece.text.substr(0, end), piece.offset}));
    if (end == std::string_view::npos) return parts;
    piece = {piece.text.substr(end + 1), piece.offset + end + 1};
  }
}

RangeReading read_range(std::string_view text) {
  RangeReading reading;
  if (is_all(text)) {
    reading.all = true;
    return reading;
  }
  const std::size_t dash = text.find('-');
  const bool single = dash == std::string_view::npos;
  // A second dash is no digit.
  const auto first = read_rank(trimmed({text.substr(0, dash), 0}).text);
  const auto last = single ? first : read_rank(trimmed({text.substr(dash + 1), 0}).text);
  if (!first || !last) {
    reading.fault = ErrorKind::RankFormat;
    return reading;
  }
  if (*first > *last) reading.fault = ErrorKind::RangeReversed;
  reading.range = {std::min(*first, *last), std::max(*first, *last)};
  return reading;
}

std::string to_text(RankRange range) {
  std::string text = std::to_string(range.first);
  if (range.last != range.first) text += '-' + std::to_string(range.last);
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const bool cut = text.size() > kLongest;
  std::size_t end = cut ? kLongest : text.size();
  // A character of several bytes stays whole.
  while (cut && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  std::string out = "'";
  for (const char c : text.substr(0, end)) {
    const bool control = static_cast<unsigned char>(c) < 0x20U || c == '\x7f';
    out += control ? '?' : c;
  }
  return out + (cut ? "...'" : "'");
}

std::string counted(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ';
  text += noun;
  if (count == 1) return text;
  // "process" and its like take another syllable.
  return text + (noun.ends_with('s') ? "es" : "s");
}

}  // namespace orrery::placement
