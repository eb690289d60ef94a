// Rounds of leases: who runs next, so that over time each job gets its share of each type.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery::policies {

/// A job, or two jobs on the same devices: first all jobs, then all pairs, by their ids.
struct RoundKey {
  JobId job;
  JobId other;  ///< The younger one of a pair; none: the job by itself.

  bool is_pair() const { return !other.is_none(); }

  friend bool operator==(const RoundKey&, const RoundKey&) = default;

  friend bool operator<(const RoundKey& a, const RoundKey& b) {
    if (a.is_pair() != b.is_pair()) return b.is_pair();
    return a.job != b.job ? a.job < b.job : a.other < b.other;
  }
};

/// What a round knows of a job, or of two jobs on the same devices. Types are numbered from 0.
struct RoundJob {
  JobId id;
  double devices = 1;         ///< It holds while it runs.
  std::vector<double> speed;  ///< On each type; 0: it does not run there.
  std::int32_t priority = 0;  ///< The user's: higher ones go first.
  bool may_run = true;        ///< In this round; false while its workers are on their way.
  bool goes_first = false;    ///< Before others of its user's priority.
  JobId other;                ///< As in `RoundKey`.

  RoundKey key() const { return {id, other}; }
};

/// Who runs on which type in a round.
struct RoundChoice {
  JobId job;
  std::size_t type = 0;
  JobId other;         ///< As in `RoundKey`.
  double devices = 1;  ///< As in `RoundJob`.

  RoundKey key() const { return {job, other}; }
};

/// Gavel's round mechanism (OSDI 2020, section 5, and its artifact where the paper is open).
///
/// Shares are computed anew when jobs or devices have come or gone, or a job has become another
/// size or may run at all (its quota had no room for it), but at most once in `reset`;
/// then the accounts of received time begin anew, each with half a round, and what a job was owed
/// and did not get becomes its deficit. With `at_once` shares follow in the next round, and
/// accounts alone wait for `reset`. In each round the priority of job i on type j is
///
///     share_ij / (time that i had on j / time that all had on j)
///
/// (0 where the share is 0, or the job came after the shares were computed). On one type after the
/// other jobs are taken by descending priority, then deficit, then share, then age; one that does
/// not fit is passed over. A pair has shares, time and deficits of its own; it runs where it has a
/// share and neither of the two runs already.
class RoundAccounts {
 public:
  struct Settings {
    Duration round = Duration::seconds(360);   ///< Above zero.
    Duration reset = Duration::seconds(1920);  ///< Least time between two computations of shares.
    bool only_shared = false;                  ///< Jobs without a share never run.
    /// Jobs that came after the shares were computed run where devices are left; false: they take
    /// these devices and do not use them, as in the artifact's simulator.
    bool newcomers_run = true;
    bool at_once = false;  ///< As Gavel on a real cluster; false: as its simulator.
  };

  explicit RoundAccounts(Settings settings) : settings_(settings) {}

  /// The job, or the pair, ran so long on the type in the round that has ended.
  void add_time(RoundKey key, std::size_t type, double seconds);

  void add_time(JobId job, std::size_t type, double seconds) {
    add_time(RoundKey{job, JobId::none()}, type, seconds);
  }

  /// Takes note of the jobs and pairs there are, ascending by key, of the devices that each holds
  /// while it runs, and of how many of each type they share. Whether shares shall be computed anew
  /// now.
  bool update(Instant now, std::span<const RoundJob> jobs, const std::vector<double>& devices);

  /// Whether jobs or devices have come or gone, or a job has become another size or may run at all,
  /// since shares were computed: where nothing runs, nobody need wait for `reset`.
  bool changed() const { return changed_ || resized_; }

  /// Shares shall be computed anew as if jobs had come or gone: they depend on what has changed.
  void want_shares() { changed_ = true; }

  /// Between two calls of `update`: the job, which has accounts, takes part no more. Where it comes
  /// back, then or before, it is new.
  void leave(JobId job);

  /// Whether the job by itself has accounts.
  bool has(JobId job) const { return find({job, JobId::none()}) != accounts_.end(); }

  /// Whether it came, or left, after shares were computed.
  bool is_new(JobId job) const { return shares(job).empty(); }

  /// The shares that `update` asked for, of the same jobs: [job][type].
  void set_shares(Instant now,
                  std::span<const RoundJob> jobs,
                  const std::vector<std::vector<double>>& shares);

  /// Who runs in this round, of the same jobs or some of them, on so many devices of each type;
  /// `order` says which type is first.
  std::vector<RoundChoice> choose(std::span<const RoundJob> jobs,
                                  std::vector<double> devices,
                                  std::span<const std::size_t> order) const;

  /// Whether shares may be computed anew by now.
  bool reset_is_due(Instant now) const;

  /// That `update` was last told of, by type.
  const std::vector<double>& devices() const { return devices_; }

  double priority(const RoundJob& job, std::size_t type) const;
  double deficit(JobId job, std::size_t type) const;  ///< By itself.

  /// Of a job by itself, by type; empty: it came after shares were computed.
  const std::vector<double>& shares(JobId job) const;

  /// Jobs that by themselves have a share above 0 of some type, ascending.
  std::vector<JobId> sharers() const;

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  /// Of one job or pair, by type.
  struct Account {
    std::vector<double> time_s;  ///< Since the last reset, and half a round.
    std::vector<double> deficit_s;
    std::vector<double> shares;  ///< Empty: it came after they were computed.
    double need = 0;             ///< Devices when they were computed; 0: it could not run.
    /// All that can be said of it is whether it has shares, of 0 then: a job that waits.
    bool is_untouched = false;
  };

  using Accounts = std::vector<std::pair<RoundKey, Account>>;  ///< Ascending by key.

  Accounts::const_iterator find(RoundKey key) const;  ///< The end where there is none.
  const Account& at(RoundKey key) const;
  void follow(std::span<const RoundJob> jobs, std::size_t types);
  double priority(const RoundJob& job, const Account& account, std::size_t type) const;
  void begin_accounts(Instant now);
  void begin(Account& account, std::size_t types) const;
  static double need_of(const RoundJob& job);
  bool any_resized(std::span<const RoundJob> jobs) const;
  void see_if_untouched(Account& account) const;

  double half_round_s() const { return settings_.round.in_seconds() / 2; }

  Settings settings_;
  Accounts accounts_;
  std::vector<double> time_s_;   ///< Of all jobs, by type.
  std::vector<double> devices_;  ///< That were last there, by type.
  Instant last_reset_;
  bool changed_ = false;    ///< Jobs or devices have come or gone since the shares were computed.
  bool resized_ = false;    ///< In the last update: a job may run otherwise than then.
  bool unsettled_ = false;  ///< Shares are newer than the accounts.
};

}  // namespace orrery::policies
