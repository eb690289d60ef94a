// The simplest policy, for tests of what runs policies.
#pragma once

#include <string_view>

#include "core/plan/policy.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::tests {

/// Grants each waiting job its minimum where it fits.
class MinimumPolicy : public Policy {
 public:
  std::string_view name() const override { return "minimum/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView&) override {
    return grant(job.row.id, job.row.min_replicas);
  }

  Plan optimize(const ClusterView& view) override {
    Plan plan;
    view.waiting().for_each([&](const WaitEntry& entry) {
      plan.grant(entry.job, view.row(entry.job).min_replicas);
      return true;
    });
    return plan;
  }

  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}
};

}  // namespace orrery::tests
