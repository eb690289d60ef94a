// The smallest pieces of the placement language: numbers, ranges and what separates them, each with
// its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/placement_error.hpp"

namespace orrery::placement {

/// A part of a text and how many bytes stand before it.
struct TextPiece {
  std::string_view text;
  std::size_t offset = 0;
};

/// `piece` without blanks (space, tab, line end) at its ends.
TextPiece trimmed(TextPiece piece);

/// What stands between the separators, blanks cut off: always one more than there are separators.
std::vector<TextPiece> split_trimmed(TextPiece piece, char separator);

/// Numbers above are read as this one: more than any cluster has, and sums of it do not overflow.
inline constexpr std::int64_t kRankCeiling = 1'000'000'000'000'000;

/// Ranks from `first` to `last`, both included; 0 <= first <= last <= kRankCeiling.
struct RankRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t count() const { return last - first + 1; }

  friend bool operator==(const RankRange&, const RankRange&) = default;
};

/// One of: a fault (rank_format or range_reversed), all, a range.
struct RangeReading {
  std::optional<ErrorKind> fault;
  bool all = false;  ///< "all" in any letter case.
  RankRange range;
};

/// Reads "a", "a-b" or "all"; numbers are digits only. `text` is not empty and has no blanks at its
/// ends. A reversed range is kept in `range` the right way round.
RangeReading read_range(std::string_view text);

/// "3" or "0-3".
std::string to_text(RankRange range);

/// In quotes for a message: long texts are cut, control characters replaced.
std::string in_quotes(std::string_view text);

/// "1 node", "2 nodes".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace orrery::placement
