// First in, first out, by whole gangs.
#pragma once

#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/lower_priority.hpp"

namespace orrery::policies {

/// Starts waiting jobs in queue order, each at its minimum of replicas, and stops at the first that
/// does not fit. Jobs over quota are passed over. A job may push out preemptible jobs of lower
/// priority.
class Fifo : public Policy {
 public:
  std::string_view name() const override { return "fifo/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;

  /// Nothing: all it keeps follows from the view.
  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 private:
  LowerPriority lower_;
  GangStarter gang_;
};

}  // namespace orrery::policies
