// What queues in front of a policy know of the jobs in the view: who stands where, and who is
// entitled to what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "core/queues/queue_loads.hpp"
#include "core/queues/queue_usage.hpp"

namespace orrery::policies {

/// What one more replica of the job's elastic role takes.
QueueUse replica_use(const JobView& job);

/// The jobs of one queue as its policy sees them.
struct QueueJobs {
  WaitQueue waiting;
  std::vector<JobId> holding;  ///< By id.
  std::vector<JobId> touched;  ///< Since its policy was asked last.
  bool touched_complete = false;
  std::uint64_t seen = 0;  ///< Of what all queues have `touched`, by then.
};

/// For whom others have to give way, and which of them.
struct QueueClaim {
  std::uint32_t queue = 0;       ///< The claimant, one without queues below it.
  std::uint32_t top = 0;         ///< Only what stands below it gives way; 0: all.
  std::uint32_t guaranteed = 0;  ///< To it, or one above it, this is guaranteed; 0: to none.
  bool by_turn = false;          ///< It is for the job that the turn is for.
};

/// Follows the views, and deals out shares on what it finds. Jobs come in sizes, so that a queue
/// seldom holds its share exactly: what it misses is owed to it, what it has beyond it owes, and
/// over `patience` its share is more or less by that, so that the mean over hours is its share. All
/// but past use and what is owed is derived from the view, and need not be saved.
class QueueBooks {
 public:
  explicit QueueBooks(QueuesSpec spec);

  const QueueTree& tree() const { return tree_; }

  /// Takes over what has changed, and time that has passed.
  void begin(const ClusterView& view);

  /// What the plan of this call changes is held from now on, and what was held for it alone in this
  /// call is not.
  void end();

  /// The queues without others below them, ascending.
  std::span<const std::uint32_t> leaves() const { return leaves_; }

  QueueJobs& jobs(std::uint32_t leaf) { return jobs_[leaf]; }

  const QueueJobs& jobs(std::uint32_t leaf) const { return jobs_[leaf]; }

  /// What jobs of any queue changed since the policy of the queue was asked last, with its own; all
  /// that hold where that is not known.
  std::span<const JobId> touched_anywhere(const ClusterView& view, std::uint32_t leaf) const;

  /// The policy of the queue was asked; whether it keeps what it was told.
  void asked(std::uint32_t leaf, bool keeps);

  /// Whether it is known what changed since then, in the queue and elsewhere.
  bool touched_complete(std::uint32_t leaf) const {
    return jobs_[leaf].touched_complete && jobs_[leaf].seen >= touched_from_;
  }

  /// A live job of the view; null where it is none.
  const QueueJob* find(JobId id) const;

  const QueueJob& job(JobId id) const { return *find(id); }

  const QueueScale& scale() const { return scale_; }

  const QueueLoads& loads() const { return loads_; }

  /// What the queue is entitled to now, in the scale's units, with what it is owed.
  std::int64_t share(std::uint32_t queue) const { return shares_[queue]; }

  /// Less than that from its share, a queue has it: jobs come in whole replicas, and shares do not.
  std::int64_t slack(std::uint32_t queue) const {
    return std::min<std::int64_t>(100, shares_[queue] / 20);
  }

  /// Whether the queue holds more than it is entitled to.
  bool is_beyond(std::uint32_t queue) const { return used(queue) > shares_[queue] + slack(queue); }

  /// What it should have more, or less, than it holds, with all that it is owed, in the scale's
  /// units. Its share has that as far as the queues above leave it.
  std::int64_t missing(std::uint32_t queue) const;

  /// What is guaranteed to it, in the scale's units.
  std::int64_t guarantee(std::uint32_t queue) const { return guarantees_[queue]; }

  /// What it holds, with what this call has given it, in the scale's units.
  std::int64_t used(std::uint32_t queue) const { return scale_.dominant(loads_.use(queue)); }

  /// Whether the queue, and each above it, holds less than it is entitled to.
  bool is_behind(std::uint32_t queue) const;

  /// The lowest queue on the way up that does not hold less than it is entitled to: itself, one
  /// above it, whose other queues then hold too much, or 0 where all are behind.
  std::uint32_t lowest_full(std::uint32_t queue) const;

  /// Whether the queue and those above it hold at most that with so much more.
  bool stays_within(std::uint32_t queue, const QueueUse& more) const;

  /// The lowest queue on the way up that has its share or would hold more than that with so much
  /// more; 0 where none would. Only others below it may give way then, so that it holds no more.
  std::uint32_t claim_top(std::uint32_t queue, const QueueUse& more) const;

  /// Whether the other queue, and each above it up to where the claimant's way joins, holds more
  /// than its share, while all on the claimant's way, up to what is guaranteed, hold less. For a
  /// turn all owe what they have beyond their guarantees; for what is guaranteed to the claimant a
  /// turn shields nobody. Else nobody owes `at_once`, in the scale's units, without which it would
  /// be further behind its share than it is beyond it now: a wide job would go for a fraction of
  /// it.
  bool owes(std::uint32_t other, const QueueClaim& claim, std::int64_t at_once = 0) const;

  /// The lowest queue, it or one above it, to which so much more is guaranteed; 0: none.
  std::uint32_t guaranteed(std::uint32_t queue, const QueueUse& more) const;

  /// From now on the queue comes first with so much, after guarantees.
  void give_turn(const QueueTurn& turn);

  std::uint32_t turn() const { return turn_.queue; }

  /// What the queue whose turn it is may hold for it, in the scale's units.
  std::int64_t turn_amount() const { return turn_.amount; }

  /// For the rest of this call the job holds so much more, or less.
  void hold(JobId id, const QueueUse& more);

  /// Forgets the last so many `hold`s.
  std::size_t held() const { return held_now_.size(); }

  void release(std::size_t held);

  void save(ByteWriter& out) const;

  /// After it the next view is taken for changed everywhere.
  void load(ByteReader& in);

 private:
  /// Whether it holds less than its share.
  bool lacks(std::uint32_t queue) const { return used(queue) < shares_[queue] - slack(queue); }

  bool would_cross(std::uint32_t queue, const QueueUse& more) const;

  /// Whether it is `top` or stands below it.
  bool is_below(std::uint32_t queue, std::uint32_t top) const;

  void note_touched(JobId id);
  void rebuild(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  void forget(JobId id);
  bool owes_itself(std::uint32_t queue, const QueueClaim& claim, std::int64_t at_once) const;
  void sum_wants(const ClusterView& view);
  std::int64_t credit(std::uint32_t queue) const;
  void deal();
  void pass(Instant now);

  struct Known {
    QueueJob job;
    std::int32_t priority = 0;
  };

  QueueTree tree_;
  std::vector<std::uint32_t> leaves_;
  QueueLoads loads_;
  QueueUsage usage_;
  QueueScale scale_;
  QueueTurn turn_;
  bool loaded_ = true;  ///< The next view is taken for changed everywhere.
  std::map<JobId, Known> known_;
  std::vector<QueueJobs> jobs_;        ///< By queue.
  std::vector<JobId> touched_;         ///< In any queue, the last of them.
  std::uint64_t touched_from_ = 0;     ///< Before them.
  std::vector<QueueUse> wants_;        ///< By queue.
  std::vector<std::int64_t> weights_;  ///< By queue.
  std::vector<std::int64_t> shares_;   ///< By queue.
  std::vector<std::int64_t> held_;     ///< By queue, from the last plan on.
  std::vector<std::int64_t> fair_;  ///< By queue, from then on: its share without what it is owed.
  std::vector<std::int64_t> owed_;  ///< By queue: units times milliseconds, below 0: it owes.
  std::vector<std::int64_t> guarantees_;  ///< By queue.
  Instant as_of_;
  std::vector<std::pair<JobId, QueueUse>> held_now_;
};

}  // namespace orrery::policies
