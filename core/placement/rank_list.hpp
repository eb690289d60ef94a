// Lists of node ranks: "0-3,6" or "all".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/placement/error_sink.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {

/// One range of a list and where it stands in the text.
struct ListedRange {
  RankRange ranks;
  std::size_t offset = 0;
};

/// A list as read. A list of all has no ranges.
struct RankList {
  bool all = false;
  std::vector<ListedRange> ranges;
};

/// Reads a list of node ranks; nothing where its form is wrong, which is told entry by entry.
std::optional<RankList> read_rank_list(const PlacedText& text, const ErrorSink& errors);

/// The ranges of `list` that hold a rank which is not among `known` (ascending, unique).
std::vector<ListedRange> ranges_outside(const RankList& list,
                                        const std::vector<std::int32_t>& known);

/// The ranks of `known` (ascending, unique) that `list` names, ascending.
std::vector<std::int32_t> pick_ranks(const RankList& list, const std::vector<std::int32_t>& known);

}  // namespace orrery::placement
