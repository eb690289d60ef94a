// sia/1: kinds of devices and sizes for all jobs together, by goodput.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/empty_kinds.hpp"
#include "policies/fitted_speed.hpp"
#include "policies/goodput_estimates.hpp"
#include "policies/measured_speeds.hpp"
#include "policies/misfits.hpp"
#include "policies/round_placement.hpp"
#include "policies/sia_program.hpp"

namespace orrery::policies {

struct SiaParameters {
  Duration period = Duration::seconds(60);         ///< Of the cycle, above zero.
  Duration restart_delay = Duration::seconds(30);  ///< What a change of a job costs it, 0 or more.
  SiaSettings program;
  std::int32_t devices_most = 64;  ///< Most devices of an elastic job beyond its minimum.
  bool tune_batch = false;         ///< Goodputs are those of the best batch, by a fitted model.
};

/// Each cycle gives every job one configuration (a kind of device, a number of nodes, a number of
/// devices), so that scaled goodputs are as good as they can be for all jobs together: see
/// `choose_options`. Configurations are powers of two within a node, whole nodes beyond, and the
/// job's minimum. An elastic job may at most double what it ever had.
///
/// Goodput is what the estimates know of the job on this kind; else what reports measured there;
/// else what they measured on the first other kind, times the ratio of the speeds of one replica
/// where both are known. A job of which nothing is known may have its minimum, on any kind.
///
/// With `tune_batch` the goodput of a job whose workers report steps and gradients is that of the
/// best batch at each configuration, by a model fitted to what they reported on this kind, as
/// Pollux has it; else by that of the first other kind, times the same ratio. The job is taken to
/// choose its batch by the same model.
///
/// (Jayaram Subramanya et al., SOSP 2023.) Beside it: a higher priority chooses first; a job that
/// keeps kind and size keeps its nodes; one whose membership is changing keeps all it has, and so
/// do fixed jobs. A job that no kind holds by itself gets its minimum of whatever is left, and
/// keeps it.
class Sia : public Policy {
 public:
  Sia(const SiaParameters& parameters, std::unique_ptr<GoodputEstimates> estimates);

  std::string_view name() const override { return "sia/1"; }

  Triggers triggers() const override;

  bool sizes_jobs() const override { return true; }

  bool tunes_batches() const override { return parameters_.tune_batch; }

  /// Nothing: a job starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// Devices of one model, and the nodes that have them.
  struct Kind {
    DeviceModelId model;
    std::int32_t nodes = 0;
    std::int32_t node_size = 0;  ///< Devices of the largest.
    std::int64_t capacity = 0;   ///< Thousandths that may be given to jobs.
  };

  /// What is remembered of a live job.
  struct Remembered {
    std::int32_t replicas_most = 0;                   ///< That it ever had.
    std::map<DeviceModelId, MeasuredSpeeds> by_kind;  ///< From reports.
    std::map<DeviceModelId, FittedSpeed> fitted;      ///< The same; empty without `tune_batch`.
    GradientStats stats;
    BatchLimits limits;
  };

  using Options = std::vector<KindAndSize>;

  void learn(const ClusterView& view);
  std::vector<Kind> kinds_of(const ClusterView& view) const;
  bool stands_outside(const ClusterView& view, const JobView& job);
  std::optional<double> goodput(const ClusterView& view,
                                const JobView& job,
                                const KindAndSize& where);
  void learn_batches(const ClusterView& view, const JobView& job, Remembered& remembered) const;
  std::optional<double> tuned(const ClusterView& view,
                              const JobView& job,
                              const KindAndSize& where);
  std::optional<double> measured(JobId job, DeviceModelId kind, std::int32_t replicas) const;
  double speed_ratio(const ClusterView& view,
                     const JobView& job,
                     DeviceModelId kind,
                     DeviceModelId other);
  std::int32_t replicas_limit(const JobView& job) const;
  Options options_of(const ClusterView& view, const JobView& job, const std::vector<Kind>& kinds);
  SiaJob program_job(const ClusterView& view,
                     const JobView& job,
                     const std::vector<Kind>& kinds,
                     const Options& options);
  void choose_equals(const ClusterView& view,
                     const std::vector<JobId>& jobs,
                     std::vector<Kind>& kinds,
                     std::vector<RoundPlacement::Wanted>& wanted);
  Plan plan_round(const ClusterView& view);
  bool chooses_again(const ClusterView& view);
  std::vector<JobId> left_waiting(const ClusterView& view, const Plan& plan) const;

  SiaParameters parameters_;
  std::unique_ptr<GoodputEstimates> estimates_;
  std::map<JobId, Remembered> jobs_;
  std::int64_t planned_ = -1;  ///< The cycle of the last plan.
  RoundPlacement placement_;
  EmptyKinds empty_kinds_;
  // Of the present view.
  ClosedNodes closed_;
  Misfits misfits_;
  std::map<std::pair<JobId, DeviceModelId>, std::int32_t> placed_most_;  ///< Replicas: no more fit.
  bool some_wait_ = false;  ///< For want of devices, by count.
};

}  // namespace orrery::policies
