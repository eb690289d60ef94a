// What orrery knows of the speeds of jobs: from reports, and from profiles where it may read them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
  /// Parts of a step's time that the model may be wrong by: so many, or, where it is wrong of what
  /// it was fitted to, so many times the root mean square of that.
  static constexpr double kToleratedError = 0.1;
  static constexpr double kToleratedErrors = 2;
  /// Parts of a step's time by which jobs may differ that count as alike.
  static constexpr double kAlike = 0.25;

  /// A model that may be wrong by so much needs no more digits, nor every batch looked at.
  static constexpr FitLimits kRough = {.decrease_min = 1e-5, .idle_max = 1};
  static constexpr int kBatches = 16;

  /// Keeps the observation where the model did not foretell it; whether it did.
  bool add(const ThroughputObservation& observation);

  bool empty() const { return profile_.empty(); }

  /// Whether what was kept of the same shape took another time, so that it was another job's.
  bool contradicts(const ThroughputObservation& observation) const;

  /// As FittedSpeed. Not to be asked while `empty`.
  GoodputTable& goodputs(const BatchLimits& limits, const GradientStats& stats);

  /// Another one for each table that `goodputs` makes.
  std::uint64_t version() const { return version_; }

  void save(ByteWriter& out) const;

  /// Takes the place of all that was kept.
  void load(ByteReader& in);

 private:
  void keep(const ThroughputObservation& observation);
  void fit();

  ThroughputProfile profile_{kRough};
  ThroughputParameters parameters_;  ///< Derived from it.
  double tolerated_ = 0;  ///< Parts of a step's time that it may be wrong by; derived as well.
  BatchLimits limits_;
  GoodputTable table_;  ///< Derived from both.
  bool stale_ = true;   ///< The table is.
  std::uint64_t version_ = 0;
};

/// Speeds of live jobs by kind of device and size. What was reported is state; the estimates come
/// from outside.
///
/// Jobs of one profile share what was reported of any of them, the ended ones too, so that only the
/// first is of unknown speed. A job whose reports differ from theirs has a model of its own from
/// then on.
class OrrerySpeeds {
 public:
  /// Profiles that are remembered, at most; beyond them the one that ran longest ago goes.
  static constexpr std::size_t kProfilesMax = 256;

  /// With `alike` jobs of one profile are taken for alike.
  OrrerySpeeds(std::unique_ptr<GoodputEstimates> estimates, bool alike)
      : estimates_(std::move(estimates)), alike_(alike) {}

  /// Takes in what the workers of the jobs that run have reported since the last call, and forgets
  /// jobs that have ended. O(running), and a fit for each job that surprised its model.
  void learn(const ClusterView& view);

  /// Goodput of the job there, above 0, in a unit that is the same for all places of the job: by
  /// the model fitted on this kind; else by estimates; else by measured progress. What was measured
  /// on another kind counts times the ratio of single replicas, where estimates tell it, else the
  /// same. In proportion to the replicas where nothing is known.
  double goodput(const ClusterView& view, const JobView& job, const KindAndSize& where);

  class OfJob;

  OfJob of(const ClusterView& view, const JobView& job);

  /// Device-seconds that the job needs in all by those of its profile that have ended; none where
  /// none has.
  std::optional<double> total_of(const JobView& job) const;

  /// Device-seconds that the epochs of the job took which are over; 0 where none is known to be.
  double had_in_epochs(const JobView& job) const;

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  /// From reports of steps, of one job or of all of a profile.
  struct Steps {
    std::map<DeviceModelId, SparseSpeed> fitted;
    BatchLimits limits;
    GradientStats first;             ///< Gradients at the beginning.
    std::int32_t replicas_most = 0;  ///< That anything was reported of.
  };

  /// Of all jobs of a profile.
  struct Profile {
    Steps steps;
    std::int64_t ended = 0;  ///< Jobs, those that failed or were stopped too.
    double total_mean = 0;   ///< Device-seconds that they had.
    Instant used;            ///< The last time that a job of it ran.
  };

  /// Best goodputs for the gradients of one job.
  struct OwnTable {
    GoodputTable goodputs;
    std::uint64_t version = 0;  ///< Of the speed that it is a copy of.
    bool is_own = false;        ///< That speed is the job's own.
  };

  /// Of one job.
  struct Known {
    std::int32_t replicas_most = 0;                   ///< That progress was reported of.
    Instant heard;                                    ///< The last profiling that was read.
    std::map<DeviceModelId, MeasuredSpeeds> by_kind;  ///< From reports of progress.
    GradientStats stats;
    std::string profile;       ///< Empty: none.
    double had = 0;            ///< Device-seconds, at the last look.
    std::int32_t epochs = 0;   ///< That are over.
    double had_in_epochs = 0;  ///< Device-seconds that they took.
    bool is_apart = false;     ///< From the others of its profile, or there is none.
    Steps own;                 ///< Where it is.
    std::map<DeviceModelId, OwnTable> tables;  ///< Derived.
  };

  Known* known_of(JobId job);
  Steps* steps_of(const JobView& job, Known* known);
  Steps& steps_for(const JobView& job,
                   Known& known,
                   DeviceModelId kind,
                   const ThroughputObservation& observed,
                   const BatchLimits& limits);
  void learn_steps(const ClusterView& view, const JobView& job, Known& known);
  void learn_from(const ClusterView& view, const JobView& job, Known& known);
  void end(const Known& known);
  void forget_profiles();
  double goodput_by_others(const ClusterView& view,
                           const JobView& job,
                           const Known* known,
                           const KindAndSize& where);
  static GoodputTable& table_of(Known* known, DeviceModelId kind, Steps& steps);
  double speed_ratio(const ClusterView& view,
                     const JobView& job,
                     DeviceModelId kind,
                     DeviceModelId other);
  static void save_steps(const Steps& steps, ByteWriter& out);
  static void load_steps(ByteReader& in, Steps& steps);
  static void load_known(ByteReader& in, Known& known);

  std::unique_ptr<GoodputEstimates> estimates_;
  bool alike_;
  std::map<JobId, Known> jobs_;
  std::map<std::string, Profile> profiles_;
};

/// What is known of one job, for as long as nothing is learned.
class OrrerySpeeds::OfJob {
 public:
  /// As `OrrerySpeeds::goodput`.
  double at(const KindAndSize& where);

  /// The most replicas that anything was reported of; 0: nothing is known of the job's speed.
  std::int32_t replicas_known() const;

  /// More replicas than that would have less than the smallest batch each.
  std::int32_t replicas_of_batch() const;

 private:
  friend class OrrerySpeeds;

  OfJob(OrrerySpeeds& all, const ClusterView& view, const JobView& job)
      : all_(all),
        view_(view),
        job_(job),
        known_(all.known_of(job.row.id)),
        steps_(all.steps_of(job, known_)) {}

  OrrerySpeeds& all_;
  const ClusterView& view_;
  const JobView& job_;
  Known* known_;                   ///< Null: nothing of it alone.
  Steps* steps_;                   ///< Null: none were reported.
  DeviceModelId kind_;             ///< That the next two are of.
  GoodputTable* table_ = nullptr;  ///< Null: of no kind yet.
  double ratio_ = 1;
};

inline OrrerySpeeds::OfJob OrrerySpeeds::of(const ClusterView& view, const JobView& job) {
  return {*this, view, job};
}

inline double OrrerySpeeds::goodput(const ClusterView& view,
                                    const JobView& job,
                                    const KindAndSize& where) {
  return of(view, job).at(where);
}

/// The model of the devices that a job holds, by its first node; none where it holds nothing.
DeviceModelId kind_held(const ClusterView& view, const JobView& job);

}  // namespace orrery::policies
