// A policy's proposal. The allocator checks it against the state of now, and the placer picks
// devices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/cluster/node_count.hpp"

namespace orrery {

/// What made a plan due.
enum class PlanTrigger : std::uint8_t {
  Submission,  ///< One job came: `allocate`.
  Completion,  ///< Devices came free because a job ended.
  Capacity,    ///< Nodes came or went, a target or a quota changed, a job came back to wait.
  Period,      ///< The policy's own cycle.
};

template <>
struct EnumNames<PlanTrigger> {
  static constexpr std::array kNames{"submission", "completion", "capacity", "period"};
};

/// Why a policy that was asked gave no plan that could be used.
enum class PlanLoss : std::uint8_t {
  Late,        ///< No answer within the planner's deadline.
  Ended,       ///< The process that ran it ended, or was killed by something else.
  Failed,      ///< It said so: an exception, memory that was refused.
  Unreadable,  ///< An answer that is no plan.
  TooLarge,    ///< A longer answer than a planner takes, or more grants than there are jobs.
  NotStarted,  ///< The process could not be started, or not brought to where the journal is.
  OutOfSteps,  ///< It asked its view more often than its budget allows; in simulators.
};

template <>
struct EnumNames<PlanLoss> {
  static constexpr std::array kNames{
      "late", "ended", "failed", "unreadable", "too_large", "not_started", "out_of_steps"};
};

/// What a policy tells the user of a job that it lets wait.
enum class PlanRemark : std::uint8_t {
  NotAdmitted,  ///< What the job asks for cannot be guaranteed: it gets what others leave.
};

template <>
struct EnumNames<PlanRemark> {
  static constexpr std::array kNames{"not_admitted"};
};

/// One change: `job` shall have `replicas` of `role`. Or a remark, which changes nothing: no
/// replicas, `beside` the job itself, and the PlanRemark in `first_node`.
struct Grant {
  JobId job;
  RoleIndex role;             ///< None: the job's elastic role; its other roles get their target.
  std::int32_t replicas = 0;  ///< 0: give everything back and wait (the whole job).
  std::uint32_t first_node = 0;  ///< Where this grant's nodes begin in `Plan::nodes`.
  std::uint32_t node_count = 0;  ///< 0: the placer chooses. Else they sum to `replicas`, and
                                 ///< ranks are given in their order, which need not be ascending.
  JobId beside;  ///< Each replica sits on the devices of this job's replica of the same rank, with
                 ///< it; none: on devices of its own. Where it is set, no nodes are named.

  bool is_remark() const { return replicas == 0 && !beside.is_none() && beside == job; }

  friend bool operator==(const Grant&, const Grant&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("role", self.role);
    v.field("replicas", self.replicas);
    v.field("first_node", self.first_node);
    v.field("node_count", self.node_count);
    v.field_since(5, "beside", self.beside);
  }
};

/// Which of its candidates a policy that holds several adopts, and why, in words.
struct PlanChoice {
  std::string candidate;  ///< Empty: no choice is told.
  std::string reason;

  bool empty() const { return candidate.empty(); }

  friend bool operator==(const PlanChoice&, const PlanChoice&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("candidate", self.candidate);
    v.field("reason", self.reason);
  }
};

/// The changes against the allocations in the view; a job not named keeps what it has. A plan is
/// one change: what it takes back or moves away from counts as free before its first grant is
/// tried.
struct Plan {
  std::vector<Grant> grants;     ///< In the order in which they shall be tried.
  std::vector<NodeCount> nodes;  ///< Shared storage of all grants' node lists.
  PlanChoice choice;             ///< Told to users; changes nothing by itself.

  bool empty() const { return grants.empty(); }

  /// Asks for `replicas` wherever they fit.
  void grant(JobId job, std::int32_t replicas) {
    grants.push_back({job, RoleIndex::none(), replicas, 0, 0, JobId::none()});
  }

  /// Asks for `replicas` on the devices that `host` holds, or that the plan gives it before.
  void grant_beside(JobId job, std::int32_t replicas, JobId host) {
    grants.push_back({job, RoleIndex::none(), replicas, 0, 0, host});
  }

  /// Tells the job's user something, which is why it waits until something else is. Said once: it
  /// is not forgotten while the job waits.
  void remark(JobId job, PlanRemark what) {
    grants.push_back({job, RoleIndex::none(), 0, static_cast<std::uint32_t>(what), 0, job});
  }

  /// Takes everything back from a job; it waits again.
  void preempt(JobId job) { grant(job, 0); }

  friend bool operator==(const Plan&, const Plan&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("grants", self.grants);
    v.field("nodes", self.nodes);
    v.field_since(5, "choice", self.choice);
  }
};

}  // namespace orrery
