// elasticflow/1: deadlines that are kept by giving each job no more than it needs for its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/models/speed_estimates.hpp"
#include "core/plan/policy.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/cut_sizes.hpp"
#include "policies/deadline_plan.hpp"
#include "policies/misfits.hpp"
#include "policies/quotas.hpp"
#include "policies/sized_placer.hpp"

namespace orrery::policies {

struct ElasticFlowParameters {
  Duration period = Duration::seconds(60);  ///< Of the cycle, and the slot of plans; whole seconds.
  /// Whether plans leave time for what a change of size was measured to cost.
  bool overhead = true;
  /// Deadlines of jobs that have no label: this times the stated run time, one number for all or
  /// the least and the most, of which each job draws its own. Empty: such jobs have none.
  std::vector<double> deadline_factors;
  std::uint64_t seed = 0;  ///< Of these draws.
};

/// The label that gives a job's deadline, as a time from its submission: "2h", "90min".
inline constexpr std::string_view kDeadlineLabel = "deadline";

/// A job with a deadline is admitted at the cycle after its submission if it and all that were
/// admitted before it can end in time; others are best effort, and are told so where they wait.
/// Each cycle plans every admitted job
/// by its deadline with its minimum satisfactory share (see deadline_plan.hpp). What is left goes
/// to admitted jobs that need nothing yet, then starts best-effort jobs in queue order, and then
/// makes jobs larger, step by step: a step to a size that the job has already comes first, so that
/// estimates that change a little move nothing, and then the one that costs least device time for
/// each device added.
///
/// (Gu et al., ASPLOS 2023.) Sizes are the minimum of a job, doubled up to its maximum. Priorities
/// come before deadlines; fixed jobs run whole or wait.
class ElasticFlow : public Policy {
 public:
  ElasticFlow(const ElasticFlowParameters& parameters, std::unique_ptr<SpeedEstimates> estimates);

  std::string_view name() const override { return "elasticflow/1"; }

  Triggers triggers() const override;

  bool sizes_jobs() const override { return true; }

  /// Nothing: a job is admitted and starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  enum class Verdict : std::uint8_t { New, Admitted, BestEffort };

  /// What is known of a job that has a deadline.
  struct Claim {
    Verdict verdict = Verdict::New;
    Instant deadline;
    bool told = false;  ///< Its user, that it is best effort, since it waits.
  };

  /// A job that takes part in this cycle.
  struct Candidate {
    JobId id;
    std::int32_t priority = 0;
    bool may_change = true;                ///< Preemptible; false: runs whole, once it has started.
    std::vector<std::int32_t> replicas;    ///< Of each column.
    std::vector<SpeedColumn> columns;      ///< In thousandths of devices.
    double iterations = 0;                 ///< Left.
    std::int64_t deadline_s = kPlanNever;  ///< From now.
    SharePlan plan;
    std::int32_t column = ShareStep::kIdle;  ///< That it gets now.

    DeadlineWork work() const { return {columns, iterations, deadline_s}; }
  };

  /// One cycle under the pen.
  struct Cycle {
    FreeProfile free;       ///< Less what is planned for, of which all but `soft` is to stay.
    std::int64_t soft = 0;  ///< Thousandths now lent to who can be made to give them back.
    std::vector<Candidate> candidates;  ///< In the order in which they were served.
    std::size_t admitted_next = 0;
    std::vector<Candidate> admitted;  ///< By priority, then deadline.
    QuotaGains given;                 ///< Devices promised beside those held.

    std::int64_t left() const { return free.steps().begin()->second - soft; }
  };

  Instant deadline_of(const JobView& job) const;
  void note_changes(const ClusterView& view);
  void absorb(const ClusterView& view);
  void look_at(const ClusterView& view, JobId id);
  FreeProfile free_of_fixed(const ClusterView& view) const;
  double iterations_left(const ClusterView& view, const JobView& job);
  Candidate candidate(const ClusterView& view, JobId id, Instant deadline);
  bool may_start(const ClusterView& view, JobId id);
  void note_started(const ClusterView& view, const Candidate& job);

  std::int64_t slot_s() const { return parameters_.period.ns / 1'000'000'000; }

  SharePlan planned(const FreeProfile& free, const Candidate& job, std::int64_t from_s = 0) const;
  std::vector<JobId> late_among(FreeProfile free, std::span<const Candidate> jobs) const;
  void admit(const ClusterView& view, const FreeProfile& free, std::vector<Candidate>& admitted);
  void tell_best_effort(const ClusterView& view, Plan& plan);
  void serve_admitted(const ClusterView& view, std::int32_t above, Cycle& cycle);
  bool grant(const ClusterView& view, Candidate& job, std::int32_t column, Cycle& cycle) const;
  void serve_best_effort(const ClusterView& view, Cycle& cycle);
  void start_best_effort(const ClusterView& view, JobId id, Cycle& cycle);
  double cost_of_more(Cycle& cycle, const Candidate& job) const;
  void grow(const ClusterView& view, Cycle& cycle);
  Plan plan_round(const ClusterView& view);
  bool chooses_again(const ClusterView& view, const Plan& plan);

  ElasticFlowParameters parameters_;
  std::unique_ptr<SpeedEstimates> estimates_;
  std::map<JobId, Claim> claims_;  ///< Of live jobs that have a deadline.
  std::int64_t cycle_ = -1;        ///< The last period in which it planned.
  bool follows_ = false;           ///< Follows from the views, as does all below.
  std::vector<JobId> changed_;
  ClosedNodes closed_;  ///< Of the present view.
  Misfits misfits_;     ///< Likewise.
  CutSizes cut_;        ///< Likewise.
  SizedPlacer placer_;
};

}  // namespace orrery::policies
