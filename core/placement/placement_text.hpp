// The text of a placement, read and checked against rules P1 to P9: docs/placement.md has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/placement/error_sink.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {

/// One sound entry: one of the two counts divides the other.
struct PlacementEntry {
  std::size_t offset = 0;  ///< Of the entry in its text.
  RankRange resources;
  RankRange processes;
  std::optional<std::size_t> processes_offset;  ///< Where process ranks are written out.
};

/// A text as far as it is sound.
struct PlacementEntries {
  std::vector<PlacementEntry> entries;
  bool sound = false;  ///< Nothing was told, and `entries` is all of the text.
};

/// What the resources of a text are.
struct ResourceFacts {
  std::optional<std::int64_t> count;  ///< Nothing where the group is not known.
  bool nodes = false;                 ///< A process is on one of them at most (rule P17).
  std::string_view where;             ///< "0-7 on node 0, 8-15 on node 1", for messages.
};

/// Reads `text`; each entry is told about at most once. Work and memory are bounded by the length
/// of the text, whatever its numbers say.
PlacementEntries read_placement(const PlacedText& text,
                                const ResourceFacts& resources,
                                const ErrorSink& errors);

}  // namespace orrery::placement
