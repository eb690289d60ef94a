// Taking back what some queues hold beyond their shares, for queues that are behind.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/queues/queue_books.hpp"
#include "policies/queues/queue_room.hpp"

namespace orrery::policies {

/// One plan that takes and gives: for the first jobs of each queue that is behind its share it
/// takes from queues beyond theirs, replicas of elastic jobs first, then whole jobs, the lowest
/// priority and the youngest allocation first. Takes nothing unless the job then fits, takes only
/// while the other queue holds more than its share, and never from fixed jobs. Elastic jobs of a
/// queue that is behind and has none waiting, beside those that a limit or a quota blocks, get room
/// to grow by what others' elastic jobs give up.
/// Where enough is free, but in pieces, small preemptible jobs of any queue are moved to other
/// nodes.
///
/// Where a limit is all that keeps a job waiting, elastic jobs that it counts give up replicas:
/// those of the job's own queue, and of others below the limit that hold more than their share.
///
/// A job that others gave way to is preempted for guarantees alone until it has run for `patience`,
/// or it would come and go with what its queue is owed.
///
/// Also knows who was denied for how long, and has the turn.
class QueueReclaim {
 public:
  /// Who is behind at this instant, and since when: gives and ends turns. Once a period.
  void track(const ClusterView& view, QueueBooks& books);

  /// What is taken back now; empty: nothing. What it changes is held in the books.
  Plan run(const ClusterView& view, QueueBooks& books, CapacityTrial& trial, bool sizes_jobs);

  /// What queues that are behind miss for elastic jobs to grow, in the scale's units: whole
  /// replicas, as far as limits let those grow, while no other job waits that could have the room.
  static std::int64_t growth_missing(const ClusterView& view,
                                     const QueueBooks& books,
                                     std::uint32_t leaf);

  /// The first job of the queue, in its order, that could run but for room; none: there is none.
  static JobId first_waiting(const ClusterView& view, const QueueBooks& books, std::uint32_t leaf);

  /// Whether quotas, the limits of queues and of their users, and what the cluster has now let a
  /// job that waits run.
  static bool limits_let_run(const ClusterView& view, const QueueBooks& books, JobId id);

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  /// One call.
  struct Call {
    const ClusterView& view;
    QueueBooks& books;
    QueueRoom& room;
  };

  static bool may_claim(const QueueBooks& books, std::uint32_t leaf);
  static std::int64_t growth_allowed(const ClusterView& view,
                                     const QueueBooks& books,
                                     std::uint32_t leaf,
                                     std::int64_t room);
  std::vector<QueueRoom::Victim> victims(const ClusterView& view, const QueueBooks& books) const;
  static bool quotas_allow(const Call& call, JobId id);
  static bool claim(Call& call, const QueueClaim& claim, JobId id);
  static bool claim_share(Call& call, QueueClaim from, JobId id, bool has_turn);
  void claim_jobs(Call& call, std::uint32_t leaf) const;
  static std::int64_t free_for_growth(const Call& call, std::uint32_t leaf, std::int64_t enough);
  static void claim_growth(Call& call, std::uint32_t leaf);
  static bool counts(const QueueBooks& books, const QueueBlock& block, JobId claimant, JobId other);
  static QueueRoom::Victim* next_below(Call& call, const QueueBlock& block, JobId claimant);
  static bool claim_below(Call& call, JobId id);
  static void claim_below_limits(Call& call, std::uint32_t leaf);

  void end_turn(QueueBooks& books);
  Instant waits_until(const QueueBooks& books, Instant now) const;
  bool keep_turn(const ClusterView& view, QueueBooks& books);

  std::map<std::uint32_t, Instant> behind_since_;
  std::map<JobId, Instant> kept_until_;  ///< Of jobs that others gave way to.
  std::map<JobId, int> in_vain_;         ///< How many turns of a job that waits it has not used.
  JobId turn_job_ = JobId::none();
  Instant turn_waits_until_;               ///< Unless its job runs by then.
  Instant turn_until_ = Instant::never();  ///< Never: its job does not run yet.
};

}  // namespace orrery::policies
