// tiresias/1: discretised two-dimensional least attained service, as in the Pollux artifact.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/gang_trial.hpp"

namespace orrery::policies {

struct TiresiasParameters {
  std::int64_t threshold_device_s = 57'600;  ///< Service that demotes: 16 device-hours.
  Duration period = Duration::seconds(60);   ///< Of the cycle, above zero.
};

/// Two queues of rigid jobs. A new job enters the first; service of `threshold_device_s` demotes it
/// to the tail of the second for good. Each cycle scans the first queue, then the second, and runs
/// every job whose devices are still left by count, so small jobs pass big ones; the rest is
/// preempted. A job that goes on running keeps its devices; others take the nodes with the most
/// free ones.
///
/// (Gu et al., NSDI 2019; two queues, no promotion and this placement as in the Pollux artifact.)
/// Jobs run at `rigid_replicas`, priorities come before the order of a queue, and fixed jobs keep
/// what they hold.
class Tiresias : public Policy {
 public:
  explicit Tiresias(const TiresiasParameters& parameters) : parameters_(parameters) {}

  std::string_view name() const override { return "tiresias/1"; }

  Triggers triggers() const override;

  std::string_view usual_placer() const override { return "most_free/1"; }

  /// Nothing: a job starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// The jobs that shall run, and those that must give devices back.
  struct Choice {
    std::vector<JobId> starting;
    std::vector<JobId> preempted;
  };

  void demote(const ClusterView& view, const std::vector<JobId>& jobs);
  std::vector<JobId> queue_order(const ClusterView& view, const std::vector<JobId>& jobs) const;
  Choice choose(const ClusterView& view,
                const std::vector<JobId>& queue,
                const std::vector<JobId>& blocked) const;
  bool place(const ClusterView& view,
             const Choice& choice,
             Plan& plan,
             std::vector<JobId>& blocked);

  TiresiasParameters parameters_;
  std::vector<JobId> demoted_;  ///< The second queue, first demoted first; live jobs only.
  GangTrial placer_;
};

}  // namespace orrery::policies
