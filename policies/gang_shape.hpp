// What decides where a gang fits.
#pragma once

#include <compare>
#include <cstdint>

#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Where one of two jobs of equal shape fits nowhere, the other does not either. A job of several
/// roles is a shape of its own.
struct GangShape {
  std::int32_t devices = 0;  ///< Of the whole gang, parts added up (JobRow::gang_room).
  std::int32_t replicas = 0;
  std::int32_t devices_each = 0;
  std::int32_t share = 0;
  DeviceModelId model;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  JobId only;  ///< Of a job of several roles.

  friend auto operator<=>(const GangShape&, const GangShape&) = default;
};

inline GangShape shape_of(const JobView& job) {
  const Demand& d = job.row.demand;
  return {job.row.gang_room(),
          job.row.min_replicas,
          d.devices,
          d.share.thousandths,
          d.model,
          d.cpu.count,
          d.memory.count,
          job.spec.roles.size() == 1 ? JobId::none() : job.row.id};
}

}  // namespace orrery::policies
