// Shortest remaining time first, preemptive.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/ordered_jobs.hpp"

namespace orrery::policies {

/// Waiting jobs start in ascending order of remaining time, higher priorities first; one that does
/// not fit takes devices back from preemptible jobs of lower priority, and from those of its own
/// priority that have longer to run, the longest first. Where that makes no room either, it is
/// passed over.
///
/// Remaining time: what the last progress report says, else the estimate less the service so far.
/// Jobs without either go last, by age. Fixed jobs that run are never touched.
class Srtf : public Policy {
 public:
  std::string_view name() const override { return "srtf/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;

  /// Nothing: all it keeps follows from the view.
  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 private:
  /// A preemptible holder; the first to give way compares less.
  struct Runner {
    std::int32_t priority = 0;
    Instant end;  ///< Expected; never where nothing is known.
    JobId job;

    friend bool operator<(const Runner& a, const Runner& b) {
      if (a.priority != b.priority) return a.priority < b.priority;
      return a.end != b.end ? a.end > b.end : b.job < a.job;
    }
  };

  struct Known {
    bool runs = false;
    Runner runner;
  };

  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  GangStarter::Outcome start_over(const ClusterView& view, const OrderKey& place, Plan& plan);

  OrderedJobs waiting_;
  std::set<Runner> runners_;
  std::vector<Known> known_;  ///< By job.
  GangStarter gang_;
};

}  // namespace orrery::policies
