// What a timeline is made of: one plain row for each thing that happened.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/command.hpp"
#include "core/record/plan.hpp"

namespace orrery::sim {

/// Devices of one node that workers of one role hold in the same way.
struct DevicePart {
  NodeId node;
  std::uint64_t devices = 0;        ///< Bit i: device i of the node.
  std::int32_t thousandths = 1000;  ///< Of each of them; 1000: whole.
  RoleIndex role;                   ///< In the job.
  std::int32_t first_rank = 0;      ///< Lowest and highest rank of these workers when the devices
  std::int32_t last_rank = 0;       ///< were granted.

  /// Ranks may move while the devices stay.
  friend bool operator==(const DevicePart& a, const DevicePart& b) {
    return a.node == b.node && a.devices == b.devices && a.thousandths == b.thousandths &&
           a.role == b.role;
  }
};

/// A stretch of time in which a job held the same devices. Whole devices are in no two segments of
/// one time.
struct Segment {
  JobId job;
  std::uint32_t k = 0;                 ///< Number in the job, from 1, in order of time.
  Instant from;                        ///< When the devices were granted.
  Instant to = Instant::never();       ///< When they were given up; the run's end at the latest.
  Generation generation;               ///< Of the job at the end of the instant `from`.
  JobPhase phase = JobPhase::Pending;  ///< Likewise.
  Reason reason = Reason::Granted;     ///< Why the allocation became this one.
  double work_done = -1;         ///< Of the whole job at `to`, in its unit, by what was reported
                                 ///< since `from`; below 0: nothing was.
  std::uint32_t first_part = 0;  ///< See `Timeline::parts`.
  std::uint32_t part_count = 0;
  bool cut_off = false;  ///< Still held when the run ended.
};

/// A job is in this phase from `at` on.
struct PhaseRow {
  JobId job;
  Instant at;
  JobPhase phase = JobPhase::Pending;
  Reason reason = Reason::Submitted;
};

/// What may be done with a node, as the controller knows it.
enum class NodeCondition : std::uint8_t {
  Up,
  Silent,      ///< Out of contact, or said to be down.
  Excluded,    ///< By a user, as a lemon, or because its relaunch failed.
  Leaving,     ///< It has announced that it goes away.
  DeviceLost,  ///< Not used until it was repaired.
  Spare,       ///< Held back.
};

/// A node is in this condition from `at` on; it begins as Up, or as Spare where declared so.
struct NodeRow {
  NodeId node;
  Instant at;
  NodeCondition condition = NodeCondition::Up;
};

/// Fault `fault` of the scenario as played struck.
struct StrikeRow {
  std::uint32_t fault = 0;
  Instant at;
};

/// One incident of a job.
struct IncidentRow {
  JobId job;  ///< None: of a node.
  NodeId node;
  std::uint32_t number = 0;  ///< In the job, from 1.
  IncidentScope scope = IncidentScope::Worker;
  Reason cause = Reason::WorkerFailed;
  bool charged = false;
  Instant opened;
  Instant closed = Instant::never();
};

/// The policy was asked once.
struct PlanRow {
  Instant at;
  PlanTrigger trigger = PlanTrigger::Submission;
  std::uint32_t grants = 0;  ///< In its answer.
  Duration took;             ///< Measured on this machine: never equal from run to run.
};

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::NodeCondition> {
  static constexpr std::array kNames{"up", "silent", "excluded", "leaving", "device_lost", "spare"};
};

}  // namespace orrery
