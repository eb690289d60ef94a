// The hot part of a live job: what policies and the allocator read, in one cache-friendly row.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/free_index.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/wait_queue.hpp"

namespace orrery {

/// The last report of a job's progress; extrapolated by `done + rate * (now - as_of)`.
struct ProgressView {
  double done = 0;
  double rate = 0;                           ///< Work per second; 0 while nothing runs.
  double efficiency = 1;                     ///< Statistical efficiency, (0, 1].
  std::int32_t epoch = 0;                    ///< Completed training epochs.
  Duration remaining = Duration::forever();  ///< At `as_of`, at the present rate.
  EstimateSource source = EstimateSource::None;
  Instant as_of;
  double checkpointed = 0;  ///< Work that a failure cannot take back.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("done", self.done);
    v.field("rate", self.rate);
    v.field("efficiency", self.efficiency);
    v.field("epoch", self.epoch);
    v.field("remaining", self.remaining);
    v.field("source", self.source);
    v.field("as_of", self.as_of);
    v.field("checkpointed", self.checkpointed);
  }
};

/// One live job. Counts are of replicas; "elastic" is the role that a policy sizes, the other roles
/// ("rest") always get their target.
struct JobRow {
  JobId id;
  JobPhase phase = JobPhase::Pending;
  bool preemptible = false;
  bool infeasible = false;  ///< Can never fit on the declared nodes; not offered to policies.
  bool holds = false;       ///< Has an allocation (claimed or held leases).
  RoleIndex elastic;        ///< Which role `min_replicas` ... `replicas` speak of.
  std::int32_t priority = 0;
  std::int32_t min_replicas = 1;  ///< Bounds after user targets.
  std::int32_t max_replicas = 1;
  std::int32_t replicas = 0;          ///< Granted now.
  Demand demand;                      ///< One replica of the elastic role.
  std::int32_t rest_devices = 0;      ///< Devices of all other roles together.
  std::int64_t rest_thousandths = 0;  ///< The same in thousandths, parts counted as parts.
  std::int32_t devices_held = 0;      ///< Devices of the whole job now.
  Generation generation;
  std::uint32_t restarts = 0;     ///< Charged to failures.
  std::uint32_t reschedules = 0;  ///< Membership changes by decision.
  std::uint32_t preemptions = 0;
  std::uint32_t node_losses = 0;  ///< Recoveries from lost nodes; not charged to the backoff limit.
  std::uint32_t quota_group = UINT32_MAX;      ///< Index of the group's quota, or none.
  std::uint32_t quota_namespace = UINT32_MAX;  ///< Index of the namespace's quota, or none.
  Duration estimate;                           ///< Stated run time; see `estimate_source`.
  EstimateSource estimate_source = EstimateSource::None;
  Instant submitted;
  Instant allocated_at;          ///< When the present allocation was made.
  std::int64_t attained_us = 0;  ///< Device-microseconds of service until `attained_as_of`.
  Instant attained_as_of;
  ProgressView progress;

  /// Service so far, in device-microseconds: devices held times time, from grant to release.
  std::int64_t attained_device_us(Instant now) const {
    return attained_us + devices_held * ((now - attained_as_of).ns / 1000);
  }

  /// Devices that the job needs at least to start, as quotas count them: a part counts as a whole.
  std::int32_t gang_devices() const { return min_replicas * demand.devices + rest_devices; }

  /// Thousandths of devices of the whole job at this size, parts counted as parts.
  std::int64_t thousandths_at(std::int32_t size) const {
    return size * demand.thousandths() + rest_thousandths;
  }

  /// Whether some replica asks for a part of a device.
  bool has_parts() const {
    return !demand.share.is_whole() || rest_thousandths != std::int64_t{rest_devices} * 1000;
  }

  /// Free devices without which the job cannot start, all parts added up and rounded up; to be
  /// compared with FreeIndex::device_room. That many may not be enough: parts have to fit.
  std::int32_t gang_room() const {
    return static_cast<std::int32_t>((thousandths_at(min_replicas) + 999) / 1000);
  }

  /// The job's kind in the wait queue: the same for all that ask for the same minimum, and seldom
  /// for others.
  WaitKind wait_kind() const {
    std::uint64_t mixed = static_cast<std::uint64_t>(gang_room());
    for (const std::int64_t part : {std::int64_t{min_replicas},
                                    std::int64_t{demand.devices},
                                    std::int64_t{demand.share.thousandths},
                                    std::int64_t{demand.model.value},
                                    demand.cpu.count,
                                    demand.memory.count})
      mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
    return static_cast<WaitKind>(mixed >> 58);
  }

  bool is_fixed() const { return !preemptible; }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("id", self.id);
    v.field("phase", self.phase);
    v.field("preemptible", self.preemptible);
    v.field("infeasible", self.infeasible);
    v.field("holds", self.holds);
    v.field("elastic", self.elastic);
    v.field("priority", self.priority);
    v.field("min_replicas", self.min_replicas);
    v.field("max_replicas", self.max_replicas);
    v.field("replicas", self.replicas);
    v.field("demand", self.demand);
    v.field("rest_devices", self.rest_devices);
    v.field_since(4, "rest_thousandths", self.rest_thousandths);
    v.field("devices_held", self.devices_held);
    v.field("generation", self.generation);
    v.field("restarts", self.restarts);
    v.field("reschedules", self.reschedules);
    v.field("preemptions", self.preemptions);
    v.field("node_losses", self.node_losses);
    v.field("quota_group", self.quota_group);
    v.field("quota_namespace", self.quota_namespace);
    v.field("estimate", self.estimate);
    v.field("estimate_source", self.estimate_source);
    v.field("submitted", self.submitted);
    v.field("allocated_at", self.allocated_at);
    v.field("attained_us", self.attained_us);
    v.field("attained_as_of", self.attained_as_of);
    v.field("progress", self.progress);
  }
};

}  // namespace orrery
