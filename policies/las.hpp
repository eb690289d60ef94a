// Least attained service first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/lower_priority.hpp"
#include "policies/ordered_jobs.hpp"

namespace orrery::policies {

/// Waiting jobs start in ascending order of attained service (devices held times time), higher
/// priorities first; one that does not fit is passed over. At any time a job may push out
/// preemptible jobs of lower priority. Once a quantum it may also push out preemptible jobs of its
/// own priority whose service exceeds its own by more than quantum times the devices they hold, the
/// most served first. Fixed jobs that run are never touched.
///
/// The margin of one quantum is what keeps two equal jobs from swapping at every trigger.
class Las : public Policy {
 public:
  struct Options {
    Duration quantum = Duration::seconds(3600);  ///< Above zero.
  };

  explicit Las(Options options) : options_(options) {}

  std::string_view name() const override { return "las/1"; }

  Triggers triggers() const override { return {.period = options_.quantum}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;
  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// A preemptible holder at one instant; the first to give way compares less.
  struct Runner {
    std::int32_t priority;
    std::int64_t attained;  ///< Device-microseconds.
    std::int64_t margin;    ///< Quantum times devices held.
    JobId job;
  };

  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  void list_runners(const ClusterView& view);
  void sort_runners();
  GangStarter::Outcome swap(const ClusterView& view, const OrderKey& place, Plan& plan);

  Options options_;
  OrderedJobs waiting_;
  LowerPriority lower_;
  bool swaps_ = false;               ///< This call does, and has not listed the runners yet.
  std::vector<Runner> runners_;      ///< As listed.
  bool in_order_ = false;            ///< Whether `runners_` are sorted.
  std::int32_t least_priority_ = 0;  ///< Of `runners_`.
  std::int64_t most_ahead_ = 0;      ///< The most that one of them has attained beyond its margin.
  GangStarter gang_;
  std::int64_t cycle_ = 0;  ///< The quantum in which jobs were last swapped.
};

}  // namespace orrery::policies
