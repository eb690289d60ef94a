// Shortest job first, not preemptive.
#pragma once

#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/lower_priority.hpp"
#include "policies/ordered_jobs.hpp"

namespace orrery::policies {

/// Waiting jobs start in ascending order of their stated run time, higher priorities first; one
/// that does not fit is passed over. Jobs that state none go last, by age. What runs goes on, but a
/// job may push out preemptible jobs of lower priority.
///
/// The stated run time is taken as it was stated: a job that waits again after a failure has its
/// old place.
class Sjf : public Policy {
 public:
  std::string_view name() const override { return "sjf/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;

  /// Nothing: all it keeps follows from the view.
  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 private:
  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);

  OrderedJobs waiting_;
  LowerPriority lower_;
  GangStarter gang_;
};

}  // namespace orrery::policies
