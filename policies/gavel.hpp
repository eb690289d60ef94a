// gavel_*, themis: time-sliced sharing of devices of several types, in rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/models/device_speeds.hpp"
#include "core/models/epoch_profile.hpp"
#include "core/plan/policy.hpp"
#include "policies/allox.hpp"
#include "policies/changes.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/device_shares.hpp"
#include "policies/empty_kinds.hpp"
#include "policies/round_accounts.hpp"

namespace orrery::policies {

/// How the shares of a round are computed: the functions of device_shares.hpp and allox.hpp.
enum class SharingRule : std::uint8_t {
  Fifo,
  MaxMin,
  MaxMinTypeBlind,
  MaxMinPacked,
  MaxSum,
  Makespan,
  FinishTimeFair,
  Isolated,
  Gandiva,
  AlloX,
};

/// Gavel (D. Narayanan et al., OSDI 2020): a rule says what part of its time each job shall have on
/// each type of device, and rounds of leases follow it (RoundAccounts). A job that keeps its type
/// keeps its devices, unless more can be served where all are placed anew. What nodes do not hold
/// is left out of the round, and others are chosen, but under FIFO and where it was chosen ahead.
/// Devices of a job that ends in a round are given again in the next.
///
/// A round is over when a new multiple of its length has come, when nothing runs, or when a job
/// that runs has just ended an epoch: under timing `gavel` the world's rounds end so.
///
/// With `choose_ahead` the jobs of a round are chosen so long before it begins, from the time that
/// jobs had by then. Those that wait start as soon as devices are free for them; of those that end
/// in between nobody else gets the devices before the next choice. A round that begins otherwise
/// than by the clock before its jobs were chosen chooses them then; under timing `gavel` all do.
///
/// With packing two jobs may be put on the same devices: each pair of jobs of equal size that does
/// more there than the two would in turn has shares of its own. Under Gandiva's rule pairs are
/// drawn where not all jobs have devices, and kept as long as they do well. Fixed jobs are in no
/// pair.
///
/// Speeds come from the table by `JobSpec::profile`, those of jobs whose batch changes from their
/// epochs' profile, at the batch of the epoch in progress; all other jobs are as fast on all types.
/// A type whose nodes do not hold a job, even without others, is one on which it does not run.
/// Fixed jobs keep what they hold; what is left is shared. A job that no type holds by
/// itself starts on what a round leaves, and keeps it.
class Gavel : public Policy {
 public:
  struct Options {
    std::string_view name;  ///< With its version.
    SharingRule rule = SharingRule::MaxMin;
    RoundAccounts::Settings rounds;
    std::shared_ptr<const DeviceSpeeds> speeds;  ///< Null: none are known.
    std::string speeds_of;  ///< The model in the table that stated run times are of.
    std::shared_ptr<const EpochProfiles> epochs;  ///< Null: there are none.
    AlloXSettings allox;
    bool water_filling = false;  ///< Max-min: also what is left beyond the least.
    bool centred = false;        ///< Of several optima the middle (`SpareShares::Centred`).
    std::uint64_t seed = 0;      ///< Of the order of types under rules that do not tell them apart.
    Duration choose_ahead = Duration::zero();  ///< Less than a round; zero: as a round begins.
    double beside = 0;  ///< What each of two jobs on the same devices keeps of its speed where the
                        ///< table does not know the two; 0: they are in no pair.
    std::size_t pairs_most = 0;  ///< Pairs that are looked at: those that gain most.
  };

  explicit Gavel(Options options);

  std::string_view name() const override { return options_.name; }

  Triggers triggers() const override;

  /// Nothing: a job starts with a round.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// One type of device: the nodes of one model.
  struct Type {
    DeviceModelId model;
    std::string name;              ///< In the table; empty where it is not there.
    std::int64_t thousandths = 0;  ///< That may be shared.
  };

  /// What the table says of a job.
  struct KnownSpeeds {
    std::string kind;  ///< `JobSpec::profile`.
    std::int32_t devices = 0;
    DeviceModelId model;          ///< That it asks for.
    bool in_table = false;        ///< Its kind is there.
    std::vector<double> on_type;  ///< Steps a second on each of `types_`; 0: it does not run there.
    std::optional<double> stated;           ///< On the model that stated run times are of.
    const EpochProfile* profile = nullptr;  ///< Of a job that has one;
    int batch = 0;                          ///< in its present epoch,
    double steps_of_epoch = 1;              ///< which has so many steps.
  };

  /// Of a job, or of a pair, that runs in the present round.
  struct Lease {
    RoundKey key;
    std::size_t type = 0;
    double seconds =
        0;  ///< That its steps take: it may be done with them before the round is over.
    Instant since;
    double counted_s = 0;  ///< Of its time, in the accounts already.
  };

  /// Of those chosen ahead. The type as its model: types may be numbered otherwise by then.
  struct Ahead {
    RoundKey key;
    DeviceModelId model;
    double devices = 1;  ///< As in `RoundJob`.
  };

  /// Of finish-time fairness: what a job's finished part would have taken in its isolated share.
  struct Isolated {
    double seconds = 0;
    double left = 0;   ///< Steps, or epochs of a job that has a profile, when last reckoned,
    double speed = 0;  ///< and its isolated speed then.
  };

  /// How many steps a second two jobs make on the same devices, on each of `types_`.
  struct PairSpeeds {
    std::vector<double> first;
    std::vector<double> second;
    double gain =
        0;  ///< The most that the sum of both, each as part of its speed alone, is above 1.
    double sum = 0;  ///< Of both and of all types, each as part of its speed alone; 0 where they do
                     ///< not fit together on one of them.
    bool may_be_tried = false;  ///< Measured, or taken to be as `Options::beside` says.
  };

  /// A pair that has a row of its own, after those of `ids_`.
  struct Pair {
    std::size_t first = 0;  ///< Places in `ids_`.
    std::size_t second = 0;
    PairSpeeds speeds;
  };

  /// What becomes of a job for which the nodes of the chosen type have no place.
  enum class IfNoPlace : std::uint8_t {
    ChooseAgain,  ///< It gets nothing, and others are chosen.
    AnotherType,  ///< It gets what another type has left.
  };

  /// Who is placed first.
  enum class Start : std::uint8_t {
    Beside,  ///< Those that have their type stay; the others by size.
    Anew,    ///< By priority, then by size; each where it is, if that is free by then.
  };

  /// Thousandths of devices of jobs that run, by their users' priority, the highest first.
  using Served = std::map<std::int32_t, std::int64_t, std::greater<>>;

  /// What became of a choice.
  struct Placement {
    Plan plan;
    std::vector<RoundChoice> chosen;   ///< By count.
    std::vector<RoundChoice> placed;   ///< They run.
    std::vector<RoundChoice> misfits;  ///< They found no place; in the order of trying.
    Served served;
  };

  /// Whether a round may give and take the job's devices.
  static bool is_shared(const JobRow& row) {
    return row.holds ? may_be_taken_from(row) : waits(row);
  }

  static bool has_devices(const JobRow& row) {
    return row.demand.devices > 0 || row.rest_devices > 0;
  }

  bool is_idle(const ClusterView& view) const;
  bool round_is_over(const ClusterView& view) const;
  bool epoch_has_ended(const ClusterView& view) const;
  void count_time(Instant now);
  void close_round(const ClusterView& view);

  bool chooses_ahead() const { return options_.choose_ahead > Duration::zero(); }

  bool may_choose_ahead(Instant now) const;
  void choose_ahead(const ClusterView& view);
  void start_early(const ClusterView& view, Plan& plan);
  std::vector<RoundChoice> chosen_ahead(const ClusterView& view);
  std::size_t type_of(DeviceModelId model) const;
  std::vector<Type> types_of(const ClusterView& view) const;
  void find_kept(const ClusterView& view);
  bool is_kept(JobId id) const;
  void find_types(const ClusterView& view);
  void find_devices(const ClusterView& view);
  void forget_who_is_gone(const ClusterView& view);
  void update_accounts(const ClusterView& view, bool idle);
  void find_jobs(const ClusterView& view);
  void read_all_jobs(const ClusterView& view);
  void read_changed_jobs(const ClusterView& view);
  bool may_keep_jobs(const ClusterView& view) const;
  void find_pairs(const ClusterView& view);
  std::vector<std::size_t> find_sharers(const ClusterView& view) const;
  void find_all_pairs(const ClusterView& view, const std::vector<std::size_t>& sharers);
  void keep_pairs(const ClusterView& view, const std::vector<std::size_t>& sharers);
  void draw_pairs(const ClusterView& view);
  bool has_bad_pair(const ClusterView& view);
  bool are_equal(const ClusterView& view, JobId a, JobId b) const;
  const PairSpeeds& known_pair(const ClusterView& view, JobId first, JobId second);
  bool may_share(const ClusterView& view, std::size_t job) const;
  PairSpeeds pair_speeds(const ClusterView& view, JobId first, JobId second);
  bool counts_devices(const ClusterView& view, const JobView& job) const;
  bool takes_part(const ClusterView& view, const JobView& job);
  bool stands_outside(const ClusterView& view, const JobView& job);
  void fill_in_all(const ClusterView& view);
  void fill_in(const ClusterView& view, const JobView& job, RoundJob& out);
  const KnownSpeeds& known(const JobView& job);
  void forget_speeds();
  void look_up(KnownSpeeds& out) const;
  void look_up_epoch(const JobView& job, KnownSpeeds& out) const;
  std::vector<double> speeds_where_held(const ClusterView& view, const JobView& job);

  double speed_on(const JobView& job, std::size_t type) { return known(job).on_type[type]; }

  double steps_left(const JobView& job, Instant now);
  double lease_s(const JobView& job, double speed, Instant now);
  double lease_s(const ClusterView& view, const RoundChoice& choice);
  double isolated_s(const JobView& job, double left);
  Shares compute_shares(const ClusterView& view);
  Shares max_min(const Sharing& sharing) const;

  SpareShares spare() const { return options_.centred ? SpareShares::Centred : SpareShares::Least; }

  std::vector<std::size_t> type_order();
  std::size_t place_of(JobId id) const;
  const Pair* pair_of(const RoundKey& key) const;
  double speed_of(const ClusterView& view, const RoundChoice& choice, std::size_t type);
  bool is_on(const ClusterView& view, JobId id, std::size_t type) const;
  bool settle_in_place(const ClusterView& view, RoundChoice& choice);
  bool is_staying(JobId id) const;
  void let_stay(JobId id);
  void free_what_goes(const ClusterView& view);
  void note_who_is_to_run(const std::vector<RoundChoice>& chosen);
  bool is_to_run(JobId id) const;
  void preempt_others(const ClusterView& view, Plan& plan) const;
  void give_up(const ClusterView& view, const RoundChoice& choice, Plan& plan);
  bool may_be_lifted(const ClusterView& view, const RoundChoice& choice) const;
  bool take_own(const ClusterView& view, RoundChoice& choice);
  static std::int32_t priority_of(const ClusterView& view, const RoundChoice& choice);
  void put_in_order(const ClusterView& view, Start start, std::vector<RoundChoice>& moving);
  Placement try_places(const ClusterView& view,
                       std::vector<RoundChoice> chosen,
                       IfNoPlace if_no_place,
                       Start start);
  Placement place(const ClusterView& view,
                  const std::vector<RoundChoice>& chosen,
                  IfNoPlace if_no_place);
  static void count_served(const ClusterView& view, JobId id, Served& served);
  bool place_after_all(const ClusterView& view, RoundChoice& choice, Placement& out);
  void fill_up(const ClusterView& view,
               const std::vector<std::size_t>& order,
               const std::vector<RoundJob>& jobs,
               std::vector<RoundJob> left,
               Placement& out);
  Placement choose_until_all_fit(const ClusterView& view,
                                 const std::vector<std::size_t>& order,
                                 const std::vector<RoundJob>& jobs,
                                 std::vector<JobId>& unmoved);
  Placement choose_and_place(const ClusterView& view);
  void leave_out(const ClusterView& view,
                 const Placement& tried,
                 std::size_t misfits,
                 std::vector<RoundJob>& jobs) const;
  Plan begin_leases(const ClusterView& view, Placement placement);
  bool place_one(const ClusterView& view, JobId id, const Type& type, Plan& plan);
  bool place_somewhere(const ClusterView& view, RoundChoice& choice, Plan& plan);
  void place_pairs(const ClusterView& view, Placement& out);
  bool place_beside(const ClusterView& view, JobId id, JobId host, Plan& plan);
  void start_outside_rounds(const ClusterView& view, Plan& plan);
  void start_across_types(const ClusterView& view, Plan& plan);
  void follow(const ClusterView& view);
  void find_sharers();
  void find_changes(const ClusterView& view);
  Plan repeat_round(const ClusterView& view);

  Options options_;
  RoundAccounts accounts_;
  Random random_;
  Instant round_start_;
  bool epochs_end_rounds_ = false;
  std::vector<Lease> leases_;  ///< Of the present round.
  bool is_chosen_ = false;     ///< Whether the next round's jobs are chosen.
  std::vector<Ahead> ahead_;   ///< The jobs chosen for the next round.
  std::map<JobId, Isolated> isolated_;
  std::vector<std::pair<JobId, JobId>> together_;  ///< Of Gandiva's rule; ascending.

  // Of the present view; kept for their memory.
  Instant now_;
  std::vector<Type> types_;
  std::vector<double> devices_;  ///< Of each type, that may be shared.
  std::vector<RoundJob> jobs_;   ///< Those of `ids_`, then those of `pairs_`; ascending by key.
  std::vector<JobId> ids_;       ///< Ascending.
  std::vector<Pair> pairs_;
  std::vector<JobId> kept_;     ///< Jobs that rounds leave alone; ascending.
  std::vector<JobId> staying_;  ///< Jobs that keep their devices; ascending.
  std::vector<JobId> to_run_;   ///< Jobs that are to run; ascending.
  // Of the jobs there are, while `types_` are the same.
  std::map<JobId, KnownSpeeds> known_;
  std::map<JobId, KnownSpeeds>::iterator known_at_;  ///< After the one last asked for.
  std::map<std::pair<JobId, JobId>, PairSpeeds> known_pairs_;
  std::vector<std::string> table_models_;  ///< Those that the table has.
  CapacityTrial trial_;
  ClosedNodes closed_;  ///< Of the view that `kept_` is of.
  EmptyKinds empty_kinds_;
  std::vector<JobId> outside_;  ///< Jobs that wait outside of rounds.
  // Of FIFO: rounds until shares are computed anew are of these alone.
  bool only_sharers_ = false;   ///< `sharers_` and `touched_` are known.
  std::vector<JobId> sharers_;  ///< Jobs that have a share; ascending.
  std::vector<JobId> touched_;  ///< Jobs that may have changed since the last round.
  // Of FIFO: what was read of jobs stays until they change.
  bool has_read_ = false;        ///< `jobs_`, `outside_` and `stale_` are known, of these nodes.
  std::vector<JobId> stale_;     ///< Jobs that may have changed since `jobs_` were read.
  std::vector<RoundJob> aside_;  ///< `jobs_`, while a round looks at few of them.
  bool any_quota_ = false;       ///< Some job has one, so that others say whether it may run.
};

}  // namespace orrery::policies
