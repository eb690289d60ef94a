#include "core/placement/rank_list.hpp"

#include <algorithm>
#include <string>

namespace orrery::placement {
namespace {

using RankRuns = std::vector<std::int32_t>;

/// The first of `known` that is not below `rank`.
RankRuns::const_iterator first_from(const RankRuns& known, std::int64_t rank) {
  return std::lower_bound(
      known.begin(), known.end(), rank, [](std::int32_t k, std::int64_t r) { return k < r; });
}

void tell_form(const TextPiece& piece, TextPosition at, const ErrorSink& errors) {
  errors.add(ErrorKind::RankFormat,
             at.plus(piece.offset),
             {"node ranks " + in_quotes(piece.text),
              "ranks such as 3, ranges such as 0-3 or, alone, 'all'",
              "write node ranks in digits, counted from 0"});
}

}  // namespace

std::optional<RankList> read_rank_list(const PlacedText& text, const ErrorSink& errors) {
  RankList list;
  const TextPiece whole = trimmed({text.text, 0});
  if (!whole.text.empty() && read_range(whole.text).all) {
    list.all = true;
    return list;
  }
  bool sound = true;
  bool empty = true;
  for (const TextPiece& piece : split_trimmed(whole, ',')) {
    if (piece.text.empty()) continue;
    empty = false;
    const RangeReading reading = read_range(piece.text);
    if (reading.all || reading.fault == ErrorKind::RankFormat) {
      tell_form(piece, text.at, errors);
      sound = false;
    } else if (reading.fault) {
      errors.add(*reading.fault,
                 text.at.plus(piece.offset),
                 {"node ranks " + in_quotes(piece.text),
                  "a range whose first rank is not above its last",
                  "write '" + to_text(reading.range) + "'"});
      sound = false;
    } else {
      list.ranges.push_back({reading.range, piece.offset});
    }
  }
  if (empty) tell_form(whole, text.at, errors);
  if (empty || !sound) return std::nullopt;
  return list;
}

std::vector<ListedRange> ranges_outside(const RankList& list, const RankRuns& known) {
  std::vector<ListedRange> outside;
  for (const ListedRange& range : list.ranges) {
    const auto first = first_from(known, range.ranks.first);
    const auto end = first_from(known, range.ranks.last + 1);
    if (end - first != range.ranks.count()) outside.push_back(range);
  }
  return outside;
}

RankRuns pick_ranks(const RankList& list, const RankRuns& known) {
  if (list.all) return known;
  // Each rank once however often it is named: work stays within text plus ranks.
  std::vector<ListedRange> ranges = list.ranges;
  std::sort(ranges.begin(), ranges.end(), [](const ListedRange& a, const ListedRange& b) {
    return a.ranks.first < b.ranks.first;
  });
  RankRuns out;
  for (const ListedRange& range : ranges) {
    const std::int64_t from = out.empty() ? 0 : std::int64_t{out.back()} + 1;
    const auto first = first_from(known, std::max(range.ranks.first, from));
    const auto end = first_from(known, range.ranks.last + 1);
    if (first < end) out.insert(out.end(), first, end);
  }
  return out;
}

}  // namespace orrery::placement
