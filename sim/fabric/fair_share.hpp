// How the flows of several stages share one link.
#pragma once

#include <cstdint>
#include <span>

namespace orrery::sim {

/// What a stage asks of a link, in equal flows. Units are 2^-40 of the link's bandwidth, integers
/// so that sums are exact whatever the order of coming and going.
struct LinkDemand {
  std::int64_t units = 0;   ///< Of all its flows together, 0 or more.
  std::uint32_t flows = 0;  ///< At least 1.
};

/// The whole bandwidth of a link in units.
inline constexpr std::int64_t kWholeLink = std::int64_t{1} << 40;

/// Units that a flow gets at most, so that all of `capacity` is used and no flow that wants more
/// gets less than another (max-min fairness). Infinite where all get what they ask for.
double fair_level(std::span<const LinkDemand> demands, std::int64_t capacity);

/// The share of its demand that a stage gets where a flow gets at most `level`: above 0, at most 1.
inline double share_at(double level, const LinkDemand& demand) {
  const double granted = level * demand.flows;
  return granted < static_cast<double>(demand.units) ? granted / static_cast<double>(demand.units)
                                                     : 1.0;
}

}  // namespace orrery::sim
