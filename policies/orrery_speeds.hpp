// What orrery knows of the speeds of jobs: from reports, and from profiles where it may read them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "core/base/bytes.hpp"
#include "core/models/goodput_table.hpp"
#include "core/models/throughput_profile.hpp"
#include "core/plan/cluster_view.hpp"
#include "policies/goodput_estimates.hpp"
#include "policies/measured_speeds.hpp"

namespace orrery::policies {

/// A model of goodput on devices of one kind, as FittedSpeed, that is fitted anew only where it was
/// wrong: an observation that it foretold is not kept. Most fits are saved so.
class SparseSpeed {
 public:
  /// Parts of a step's time that the model may be wrong by.
  static constexpr double kToleratedError = 0.1;

  /// Keeps the observation where the model did not foretell it; whether it did.
  bool add(const ThroughputObservation& observation);

  bool empty() const { return profile_.empty(); }

  /// As FittedSpeed. Not to be asked while `empty`.
  GoodputTable& goodputs(const BatchLimits& limits, const GradientStats& stats);

  void save(ByteWriter& out) const;

  /// Takes the place of all that was kept.
  void load(ByteReader& in);

 private:
  void keep(const ThroughputObservation& observation);

  ThroughputProfile profile_;
  ThroughputParameters parameters_;  ///< Derived from it.
  BatchLimits limits_;
  GoodputTable table_;  ///< Derived from both.
  bool stale_ = true;   ///< The table is.
};

/// Speeds of live jobs by kind of device and size. What was reported is state; the estimates come
/// from outside.
class OrrerySpeeds {
 public:
  explicit OrrerySpeeds(std::unique_ptr<GoodputEstimates> estimates)
      : estimates_(std::move(estimates)) {}

  /// Takes in what the workers of the jobs that run have reported since the last call, and forgets
  /// jobs that have ended. O(running), and a fit for each job that surprised its model.
  void learn(const ClusterView& view);

  /// The most replicas that anything was reported of; 0: nothing is known of the job's speed.
  std::int32_t replicas_known(JobId job) const;

  /// More replicas than that would have less than the smallest batch each.
  std::int32_t replicas_of_batch(JobId job) const;

  /// Goodput of the job there, above 0, in a unit that is the same for all places of the job: by
  /// the model fitted on this kind; else by estimates; else by measured progress. What was measured
  /// on another kind counts times the ratio of single replicas, where estimates tell it, else the
  /// same. In proportion to the replicas where nothing is known.
  double goodput(const ClusterView& view, const JobView& job, const KindAndSize& where);

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  struct Known {
    std::int32_t replicas_most = 0;                   ///< That anything was reported of.
    Instant heard;                                    ///< The last profiling that was read.
    std::map<DeviceModelId, MeasuredSpeeds> by_kind;  ///< From reports of progress.
    std::map<DeviceModelId, SparseSpeed> fitted;      ///< From reports of steps.
    GradientStats stats;
    BatchLimits limits;
  };

  static void learn_from(const ClusterView& view, const JobView& job, Known& known);
  double speed_ratio(const ClusterView& view,
                     const JobView& job,
                     DeviceModelId kind,
                     DeviceModelId other);
  static void load_known(ByteReader& in, Known& known);

  std::unique_ptr<GoodputEstimates> estimates_;
  std::map<JobId, Known> jobs_;
};

/// The model of the devices that a job holds, by its first node; none where it holds nothing.
DeviceModelId kind_held(const ClusterView& view, const JobView& job);

}  // namespace orrery::policies
