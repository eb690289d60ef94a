// shockwave/1: fair and efficient rounds for jobs whose batch, and so whose speed, changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/models/epoch_profile.hpp"
#include "core/plan/policy.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/misfits.hpp"
#include "policies/round_placement.hpp"
#include "policies/shockwave_window.hpp"

namespace orrery::policies {

struct ShockwaveParameters {
  WindowSettings window;  ///< `round_s` is that of `round`.
  Duration round = Duration::seconds(120);
  Duration choose_ahead = Duration::zero();  ///< Less than a round; zero: as a round begins.
  int resolve_rounds = 8;  ///< The schedule is made anew after so many rounds at the latest.
  int depth = 400;         ///< Jobs that one program takes, the most late first; at least 1.
};

/// Time passes in rounds. A schedule says for each round of a window which jobs run in it: by the
/// program of `solve_window`, for one priority after the other. It is made anew when jobs have come
/// or gone, when its window is over, and after `resolve_rounds`. In each round devices that it
/// leaves idle go to the other jobs that fit, those of most predicted rest first. With
/// `choose_ahead` all of it is done so long before a round begins; who waits and was chosen starts
/// as soon as devices are free, the others with the round.
///
/// (Zheng et al., NSDI 2023.) Jobs keep the replicas of `rigid_replicas`. How long a job's rest is,
/// its `EpochPredictor` says from its profile, calibrated once at each new schedule by what reports
/// showed; of a job without a profile its estimate counts, else an hour, as epochs of equal length.
/// Fixed jobs keep what they hold; the rest of the cluster is what the program shares out.
class Shockwave : public Policy {
 public:
  Shockwave(const ShockwaveParameters& parameters, std::shared_ptr<const EpochProfiles> profiles);

  std::string_view name() const override { return "shockwave/1"; }

  Triggers triggers() const override;

  /// Nothing: a job starts with a round.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// What a job's predictor says of it.
  struct Outlook {
    int done = -1;      ///< Epochs,
    double factor = 0;  ///< and the predictor's factor, of which it is told.
    double remaining_s = 0;
    double elapsed_s = 0;
    double mean_s = 0;  ///< Of an epoch.
  };

  /// A live job: first what is remembered of it, then what follows from that and its specification,
  /// then what the present view says.
  struct Job {
    JobId id;
    FairFinish finish;
    MeasuredExamples measured;
    double factor = 1;               ///< Of its predictor.
    std::vector<std::uint8_t> runs;  ///< [round of the window], empty: it is not scheduled.

    std::unique_ptr<EpochProfile> own;          ///< Of a job without a profile.
    std::unique_ptr<EpochPredictor> predictor;  ///< None before it took part in a round.
    Outlook outlook;                            ///< The last one; most jobs wait, and theirs stays.
    RoundsAhead ahead;                          ///< Of the outlook; empty before it is asked for.

    std::int32_t priority = 0;
    std::int32_t replicas = 0;
    std::int32_t devices = 0;
    std::int64_t room = 0;  ///< Thousandths of devices.
    bool holds = false;
    bool kept = false;  ///< It holds devices, and is fixed or has them on closed nodes.
  };

  std::int64_t round_of(Instant now) const { return now.ns / parameters_.round.ns; }

  bool follow(const ClusterView& view);
  Job* find(JobId job);
  Job* find(JobId job, std::size_t known);  ///< Among the first `known`.
  void find_present(const std::vector<JobId>& ids, std::size_t known);
  void predict(const JobView& view, Job& job) const;
  void measure(const ClusterView& view);
  static int epochs_of(const JobView& view, const Job& job, Instant now);
  void look_ahead(const ClusterView& view);
  double share(const ClusterView& view) const;
  void estimate_finishes(const ClusterView& view);
  void make_schedule(const ClusterView& view);
  WindowJob window_job(Job& job, Instant now) const;
  void schedule_equals(Instant now, const std::vector<Job*>& equals, WindowPlace& place);
  std::vector<RoundPlacement::Wanted> jobs_of_round(const ClusterView& view);
  bool chooses_again(const ClusterView& view);
  void choose(const ClusterView& view);
  Plan begin_round(const ClusterView& view);
  Plan start_early(const ClusterView& view);

  bool chooses_ahead() const { return parameters_.choose_ahead > Duration::zero(); }

  /// What is decided now is for the round that goes on then.
  Instant decided_for(Instant now) const { return now + parameters_.choose_ahead; }

  ShockwaveParameters parameters_;
  std::shared_ptr<const EpochProfiles> profiles_;
  std::vector<Job> jobs_;      ///< Live ones, by id.
  std::int64_t planned_ = -1;  ///< The last round whose jobs were chosen.
  std::int64_t begun_ = -1;    ///< The last round that jobs were placed for.
  std::vector<RoundPlacement::Wanted>
      chosen_;                      ///< For the round `planned_`, while it has not begun.
  std::int64_t window_begin_ = -1;  ///< Round of the schedule's first; -1: there is none.
  std::vector<Job*> present_;       ///< Of a view: those that hold or wait, by priority and age.
  WindowSolver solver_;
  ClosedNodes closed_;  ///< Of a view.
  Misfits misfits_{Misfits::Sizes::Rigid};
  RoundPlacement placement_;
  CapacityTrial trial_;
};

}  // namespace orrery::policies
