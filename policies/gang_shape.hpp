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

/// Of the job with so many replicas.
inline GangShape shape_of(const JobView& job, std::int32_t replicas) {
  const Demand& d = job.row.demand;
  return {static_cast<std::int32_t>((job.row.thousandths_at(replicas) + 999) / 1000),
          replicas,
          d.devices,
          d.share.thousandths,
          d.model,
          d.cpu.count,
          d.memory.count,
          job.spec.roles.size() == 1 ? JobId::none() : job.row.id};
}

/// Of its minimum.
inline GangShape shape_of(const JobView& job) { return shape_of(job, job.row.min_replicas); }

/// The same; a job whose seats are said is a shape of its own, too.
inline GangShape shape_of(const ClusterView& view, const JobView& job, std::int32_t replicas) {
  GangShape shape = shape_of(job, replicas);
  if (view.is_seated(job.row.id)) shape.only = job.row.id;
  return shape;
}

}  // namespace orrery::policies
