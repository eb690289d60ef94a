// orrery/1: sizes and kinds of devices for all jobs by prices, those with little left first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/empty_kinds.hpp"
#include "policies/orrery_speeds.hpp"
#include "policies/pollux_jobs.hpp"
#include "policies/price_shares.hpp"
#include "policies/quotas.hpp"
#include "policies/work_values.hpp"

namespace orrery::policies {

struct OrreryParameters {
  Duration period = Duration::seconds(60);     ///< Of the cycle, above zero.
  Duration restart = Duration::seconds(30);    ///< What a change of its devices costs a job.
  Duration horizon = Duration::seconds(3600);  ///< A change has to pay within it, above 0,
  double payback = 0.1;  ///< and within so much of the time that the job has left, above 0.
  double growth = 4;     ///< Times the replicas that a speed is known for, at least 1.
  std::int32_t first_replicas = 4;  ///< Of a job of unknown speed, at most.
  /// What a job of which nothing is known has left at first, on one device; above 0.
  Duration guess = Duration::seconds(600);
  Duration patience = Duration::seconds(3600);  ///< Of a gang that others pass.
  bool epochs = true;  ///< Whether it knows how many epochs a job has where its profile says so.
  bool alike = true;   ///< Whether jobs of one profile are taken to be of one speed.
};

/// Shares all devices out anew at every submission, end and cycle.
///
/// Jobs whose size is a choice (one role, whole devices, preemptible, no seats) each have options:
/// sizes on each kind of device. An option is worth
///
///   what a unit of the job's work is worth x goodput there
///
/// beyond its minimum, which comes before all that is more than a minimum. The first factor is of
/// `WorkValues`: so shared out, the jobs that are there end with the least sum of completion times,
/// as far as speeds stay as they are. An option that is not what the job has counts
/// within / (within + restart) of it, where `within` is `payback` of the time that the job has left
/// at its present size, at most `horizon` and no less than `restart`. `PriceShares` finds who has
/// what. A new sharing that is not worth more than what is there is not proposed.
///
/// The order of ends is taken to be that of the device-seconds left: the time left of the job's
/// last report times its devices; else by epochs, what it took for each that is over times those
/// left, less what it has had since the last one; else what its stated run time leaves; else what
/// jobs of its profile had in the mean, less what it has had; else, as a guess, as much as it has
/// had. A job in its first epoch, whose profile tells how many there are, is one of the last kind
/// until it has had ten device-minutes, and then as those of its profile.
///
/// All other jobs are gangs (`PolluxJobs`): they start in queue order beside the minimum of older
/// jobs, pass one that does not fit, and keep what they hold. The first that has waited for
/// `patience` has a reservation (`OverdueGang`) and is delayed by nobody who passes it.
class OrreryPolicy : public Policy {
 public:
  OrreryPolicy(const OrreryParameters& parameters,
               std::unique_ptr<GoodputEstimates> estimates,
               std::shared_ptr<const PolluxProfiles> profiles);

  std::string_view name() const override { return "orrery/1"; }

  Triggers triggers() const override;

  bool sizes_jobs() const override { return true; }

  bool tunes_batches() const override { return true; }

  /// Nothing: a job starts in the `optimize` that follows a submission.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override { speeds_.save(out); }

  void load(ByteReader& in) override { speeds_.load(in); }

 private:
  /// Devices of one model that may be shared out.
  struct Kind {
    DeviceModelId model;
    std::int32_t nodes = 0;      ///< With any.
    std::int32_t node_size = 0;  ///< Of the node with most.
  };

  /// A job that shares.
  struct Sharer {
    JobId id;
    double left = 0;            ///< Device-seconds, above 0.
    std::int32_t length = 0;    ///< The step that it is on.
    std::size_t level = 0;      ///< Of its minimum: by priority, then whether it runs.
    std::int32_t current = -1;  ///< Among its options what it has; -1: nothing.
    std::int32_t chosen = -1;
  };

  /// What a choice is worth. One priority is never weighed against another.
  struct Worth {
    std::vector<std::int64_t> minima;  ///< By level: devices of the minima of who gets something.
    double sum = 0;                    ///< Of values; minima included.

    bool is_better_than(const Worth& other) const;
  };

  double left_of(const ClusterView& view, const JobView& job) const;
  double left_by_epochs(const JobView& job, double had, int epochs_max) const;
  double left_by_profile(const JobView& job, double had) const;
  double guessed_left(double had) const;
  void find_sharers(const ClusterView& view);
  void order_sharers();
  void weigh_options();
  void find_kinds(const ClusterView& view, const PolluxJobs::Gangs& gangs);
  std::size_t kind_of(DeviceModelId model);
  void add_options(const ClusterView& view, Sharer& sharer);
  void add_sizes(const ClusterView& view,
                 const JobView& job,
                 const OrrerySpeeds::OfJob& speed,
                 std::size_t kind);
  void value_options(const JobView& job, OrrerySpeeds::OfJob& speed, const Sharer& sharer);
  void put_minimum_first(const ClusterView& view);
  Worth worth(const ClusterView& view, std::span<const std::int32_t> chosen) const;
  PolluxJobs::Gangs decide(const ClusterView& view, std::span<const JobId> in_vain, Plan& plan);
  void share_out(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan);
  std::int32_t size_chosen(std::uint32_t sharer) const;
  bool start_beside(const ClusterView& view,
                    const PolluxJobs::Gangs& gangs,
                    std::span<const std::uint32_t> moving,
                    Plan& plan);
  bool quota_allows(const ClusterView& view, const JobRow& row, std::int32_t replicas) const;
  void note_given(const JobRow& row, std::int32_t replicas);
  bool place_one(const ClusterView& view, Sharer& sharer, std::vector<NodeCount>& nodes);
  bool place_moving(const ClusterView& view,
                    std::vector<std::uint32_t> moving,
                    bool stay_first,
                    Plan& plan);
  void place_all(const ClusterView& view,
                 const PolluxJobs::Gangs& gangs,
                 std::span<const std::int32_t> chosen,
                 Plan& plan);
  std::vector<std::int32_t> chosen_now() const;
  void add_across_kinds(const ClusterView& view, PolluxJobs::Gangs& gangs);
  void start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan);

  OrreryParameters parameters_;
  OrrerySpeeds speeds_;
  std::shared_ptr<const PolluxProfiles> profiles_;
  // Derived from the views, or scratch of one call.
  PolluxJobs jobs_;
  CapacityTrial trial_;
  EmptyKinds empty_kinds_;
  PriceShares shares_;
  WorkValues work_values_;
  QuotaGains given_;
  ShareProblem problem_;
  std::vector<KindAndSize> where_;  ///< Of each option.
  std::vector<Sharer> sharers_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> order_;
  std::vector<std::int32_t> devices_;  ///< By node.
};

}  // namespace orrery::policies
