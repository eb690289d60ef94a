#include "core/placer/registry.hpp"

#include <iterator>

#include "core/base/invariant.hpp"
#include "core/placer/best_fit.hpp"
#include "core/placer/most_free.hpp"

namespace orrery::placers {
namespace {

const BestFit kBestFit{};
const MostFree kMostFree{};

const PlacerRow kRows[] = {
    {"best_fit", "as few nodes as possible, the last one the tightest fit", kBestFit},
    {"most_free", "always the node with the most free devices", kMostFree},
};

}  // namespace

std::span<const PlacerRow> rows() { return kRows; }

const Placer* find(std::string_view name) {
  for (const PlacerRow& row : kRows)
    if (row.name == name || row.placer.name() == name) return &row.placer;
  return nullptr;
}

const Placer& initial() { return kBestFit; }

bool is_known(std::string_view name) { return name.empty() || find(name) != nullptr; }

const Placer& named(std::string_view name) {
  // Asked for at each placement, and nearly always for this one.
  if (name.empty() || name == BestFit::kName) return initial();
  const Placer* placer = find(name);
  invariant(placer != nullptr, "settings name a placer that there is");
  return *placer;
}

std::string names_text() {
  std::string text;
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    text += std::string(i == 0                     ? ""
                        : i + 1 < std::size(kRows) ? ", "
                                                   : " and ") +
            std::string(kRows[i].placer.name());
  return text;
}

}  // namespace orrery::placers
