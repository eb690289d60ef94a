// What srtf and srsf share: who has least left goes first, preemptively.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/base/sparse_array.hpp"
#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/ordered_jobs.hpp"

namespace orrery::policies {

/// What is left of the job's stated run time at its minimum of devices; forever where none is
/// stated.
Duration estimate_left(const JobRow& row);

/// Waiting jobs start in ascending order of what they have left, higher priorities first; one that
/// does not fit takes devices back from preemptible jobs of lower priority, and from those of its
/// own priority that have more left, the most first. Where that makes no room either, it is passed
/// over.
///
/// Remaining time: what the last progress report says, else the estimate less the service so far.
/// Jobs without either go last, by age. Fixed jobs that run are never touched.
class ShortestRemaining : public Policy {
 public:
  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;

  /// Nothing: all it keeps follows from the view.
  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 protected:
  /// What is compared: the remaining time, or that times the devices of the job's minimum.
  enum class Measure { Time, Service };

  explicit ShortestRemaining(Measure measure) : measure_(measure) {}

 private:
  /// A preemptible holder; of those with equal weight the first to give way compares less.
  struct Runner {
    Instant end;  ///< Expected; never where nothing is known.
    JobId job;

    friend bool operator<(const Runner& a, const Runner& b) {
      return a.end != b.end ? a.end > b.end : b.job < a.job;
    }
  };

  using Runners = std::set<Runner>;
  using ByWeight = std::map<std::int32_t, Runners>;  ///< None is empty.

  struct Known {
    bool runs = false;
    std::int32_t priority = 0;
    std::int32_t weight = 1;
    Runner runner;

    bool is_same(const Known& other) const {
      return runs == other.runs && runner.end == other.runner.end && weight == other.weight;
    }
  };

  /// Runners of one weight that were not visited yet.
  struct Cursor {
    Runners::const_iterator next;
    Runners::const_iterator end;
    std::int32_t weight;
  };

  std::int32_t weight_of(const JobRow& row) const;
  std::int64_t amount(Duration left, std::int32_t weight) const;
  std::int64_t key_of_waiting(const JobRow& row) const;
  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  void drop_runner(const Known& known);
  template <class Visit>
  bool visit_most_first(const ByWeight& runners, Instant now, std::int64_t above, Visit&& visit);
  GangStarter::Outcome start_over(const ClusterView& view, const OrderKey& place, Plan& plan);

  Measure measure_;
  OrderedJobs waiting_;
  std::map<std::int32_t, ByWeight> runners_;  ///< By priority, ascending; none is empty.
  SparseArray<Known> known_;                  ///< By job.
  GangStarter gang_;
};

}  // namespace orrery::policies
