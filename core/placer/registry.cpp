#include "core/placer/registry.hpp"

#include <iterator>

#include "core/base/invariant.hpp"
#include "core/placer/best_fit.hpp"
#include "core/placer/fgd.hpp"
#include "core/placer/most_free.hpp"
#include "core/placer/random_node.hpp"
#include "core/placer/resource_scores.hpp"
#include "core/placer/together.hpp"

namespace orrery::placers {
namespace {

const BestFit kBestFit{};
const MostFree kMostFree{};
const Fgd kFgd{};
const BestFitScore kBestFitScore{};
const GpuPacking kGpuPacking{};
const GpuClustering kGpuClustering{};
const DotProduct kDotProduct{};
const RandomNode kRandom{};
const Consolidate kConsolidate{};
const Spread kSpread{};
const Topology kTopology{};

const PlacerRow kRows[] = {
    {"best_fit", "as few nodes as possible, the last one the tightest fit", kBestFit},
    {"most_free", "always the node with the most free devices", kMostFree},
    {"fgd", "the node that loses least to fragmentation for the jobs there are", kFgd},
    {"best_fit_score", "the node with least left of CPU and devices", kBestFitScore},
    {"gpu_packing", "devices in use, then nodes in use, then empty nodes", kGpuPacking},
    {"gpu_clustering", "nodes with jobs of the same kind", kGpuClustering},
    {"dot_product", "the node whose free CPU and devices are least like the demand", kDotProduct},
    {"random", "any node with room, drawn for each request", kRandom},
    {"consolidate", "as few nodes as possible, CPU and memory counted", kConsolidate},
    {"spread", "as many nodes as possible, the emptiest first", kSpread},
    {"topology", "one NVLink domain, else one rack, else few racks", kTopology},
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
