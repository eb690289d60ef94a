// DI-orchestrator's fit allocator, done properly.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/gang_starter.hpp"
#include "policies/lower_priority.hpp"
#include "policies/measured_speeds.hpp"

namespace orrery::policies {

/// `allocate` gives a new job its minimum where that fits, and an elastic one then as many replicas
/// as fit. `optimize` starts waiting jobs in queue order, passing over those that do not fit, and
/// once a period redistributes the elastic jobs: all go back to their minimum, waiting jobs start,
/// then replicas are given one at a time to the job that gains most in proportion to its speed.
///
/// Speeds are what progress reports measured at each number of replicas, linear in between and a
/// power of the number beyond; where nothing was measured, speed is taken as proportional, so
/// shares become equal. A job that gains less than `gain_min` of one replica's speed gets no more.
/// Fixed jobs are never touched.
///
/// Source: DI-orchestrator's allocator interface (its own FitPolicy is a stub); maximising the sum
/// of log speeds is proportional fairness (F. Kelly, 1997).
class Fit : public Policy {
 public:
  struct Options {
    Duration period = Duration::seconds(60);  ///< Above zero.
    double gain_min = 0.05;                   ///< 0 to 1.
  };

  explicit Fit(Options options) : options_(options) {}

  std::string_view name() const override { return "fit/1"; }

  Triggers triggers() const override { return {.period = options_.period}; }

  bool sizes_jobs() const override { return true; }

  bool is_settled() const override { return settled_; }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;
  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// An elastic job during one redistribution.
  struct Share {
    JobId job;
    std::int32_t replicas = 0;
    std::vector<NodeCount> nodes;  ///< As far as given.
    std::vector<NodeCount> own;    ///< Held at the start and not given again yet.
    bool was_waiting = false;
    bool grows = false;  ///< Beyond what it held.
  };

  void absorb(const ClusterView& view);
  void learn(const ClusterView& view, JobId id);
  void start_waiting(const ClusterView& view, Plan& plan);
  Plan redistribute(const ClusterView& view);
  std::vector<Share> shrink_all(const ClusterView& view);
  void add_started(const ClusterView& view, std::vector<Share>& shares);
  void grow_all(const ClusterView& view, std::vector<Share>& shares);
  bool grow(const ClusterView& view, std::span<const Share> shares, Share& share);
  std::int64_t gain(const JobRow& row, std::int32_t replicas) const;
  double speed(JobId id, std::int32_t replicas) const;

  Options options_;
  std::map<JobId, MeasuredSpeeds> measured_;  ///< Elastic jobs that live.
  std::set<JobId> elastic_;                   ///< Of the jobs that hold or wait; derived.
  LowerPriority lower_;
  GangStarter gang_;
  bool settled_ = false;    ///< Shares were redistributed last, and nothing came of it.
  std::int64_t cycle_ = 0;  ///< The period in which shares were last redistributed.
};

}  // namespace orrery::policies
