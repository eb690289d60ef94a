// optimus/1: marginal gains of one more replica, as in the Pollux artifact.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "core/models/speed_estimates.hpp"
#include "core/plan/policy.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/cut_sizes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/misfits.hpp"
#include "policies/priority_placement.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {

struct OptimusParameters {
  Duration period = Duration::seconds(60);  ///< Of the cycle, above zero.
};

/// Sizes every elastic job anew each cycle. Each job gets its minimum while devices are left; then
/// one replica at a time goes to the job whose completion comes forward most, which is (time of an
/// iteration at n) - (at n + 1), times the iterations left. A job whose size stays keeps its
/// devices; the others are placed by ascending size on the nodes with the most free ones. Where a
/// waiting job finds no place there, others give way if their priority is lower or they have more
/// than their minimum (`PriorityPlacement`), else sizes are chosen again without it (`Misfits`).
/// Where nodes hold less than the size of a job, sizes are chosen again with no more for it, and a
/// plan that starts nobody is dropped if the jobs would not complete earlier by it than with what
/// they have.
///
/// (Peng et al., EuroSys 2018; one role, GPUs as the only resource and this placement as in the
/// Pollux artifact, whose "oracle" is the iterations left in the profile.) Priorities come before
/// age; fixed jobs get their rigid size and then keep what they hold.
class Optimus : public Policy {
 public:
  Optimus(const OptimusParameters& parameters, std::unique_ptr<SpeedEstimates> estimates);

  std::string_view name() const override { return "optimus/1"; }

  Triggers triggers() const override;

  bool sizes_jobs() const override { return true; }

  std::string_view usual_placer() const override { return "most_free/1"; }

  /// Nothing: a job starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// One job under the pen: its minimum as `least`.
  using Sized = SizedJob;

  std::int64_t room_at(const JobRow& row, std::int32_t replicas) const;
  std::int32_t least_size(const JobRow& row) const;
  std::int32_t next_size(const JobRow& row, std::int32_t replicas) const;
  static std::int32_t beyond(const JobRow& row, std::int32_t replicas);
  bool quota_allows(const ClusterView& view, const Sized& sized, std::int32_t replicas) const;
  void note_given(const JobRow& row, std::int32_t before, std::int32_t replicas);
  bool size_one(const ClusterView& view,
                const JobRow& row,
                std::int64_t& left,
                std::vector<Sized>& sized);
  std::vector<Sized> minimum_sizes(const ClusterView& view,
                                   const std::vector<JobId>& holders,
                                   std::int64_t& left);
  void grow(const ClusterView& view, std::int64_t left, std::vector<Sized>& sized);
  Duration gain(const ClusterView& view, const Sized& sized);
  Plan place(const ClusterView& view, const std::vector<Sized>& sized);
  Plan place_beside(const ClusterView& view, std::vector<Sized> sized, std::set<JobId>& unplaced);
  bool place_one(const ClusterView& view, const Sized& sized, Plan& plan);
  bool note_cut_short(const ClusterView& view, const std::vector<Sized>& sized, const Plan& plan);
  bool is_in_vain(const ClusterView& view, const Plan& plan);

  OptimusParameters parameters_;
  std::unique_ptr<SpeedEstimates> estimates_;
  // Of the present view.
  ClosedNodes closed_;
  Misfits misfits_;
  GangTrial placer_;
  PriorityPlacement by_priority_;
  QuotaGains given_;
  CutSizes cut_;  ///< Of the present plan.
};

}  // namespace orrery::policies
