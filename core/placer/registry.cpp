#include "core/placer/registry.hpp"

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

}  // namespace orrery::placers
