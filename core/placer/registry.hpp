// Every placer by name: one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/placer/placer.hpp"

namespace orrery::placers {

/// One placer as users see it. `name` is without the version.
struct PlacerRow {
  std::string_view name;
  std::string_view summary;
  const Placer& placer;
};

/// All placers, in the order in which they are listed. The first serves where none is named.
std::span<const PlacerRow> rows();

/// The placer of this name, with its version ("best_fit/1") or without; null where there is none.
const Placer* find(std::string_view name);

/// The one that serves where none is named.
const Placer& initial();

/// Whether settings may name it: one of the table, or nothing for the initial one.
bool is_known(std::string_view name);

/// The placer that settings name. The name must be known.
const Placer& named(std::string_view name);

/// All names with their versions, for messages: "best_fit/1 and most_free/1".
std::string names_text();

}  // namespace orrery::placers
