// What the jobs of each queue hold and ask for, and what keeps one of them from holding more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cluster/free_index.hpp"
#include "core/job/row.hpp"
#include "core/job/spec.hpp"
#include "core/queues/queue_tree.hpp"

namespace orrery {

/// One live job as its queue counts it.
struct QueueJob {
  std::uint32_t queue = 0;  ///< One without queues below it.
  std::string user;         ///< Its namespace.
  QueueUse use;             ///< Held now.
  QueueUse want;            ///< Asked for in all, what it holds included; nothing of an infeasible.
  bool fixed = false;       ///< May not be taken from.
  bool waits = false;
  bool holds = false;

  friend bool operator==(const QueueJob&, const QueueJob&) = default;
};

/// What a job of so many replicas of its elastic role takes, all roles together.
QueueUse use_at(const JobRow& row, const JobSpec& spec, std::int32_t replicas);

/// The same of the least with which it starts.
inline QueueUse gang_use(const JobRow& row, const JobSpec& spec) {
  return use_at(row, spec, row.min_replicas);
}

/// How many replicas of its elastic role a job asks for in all. `sizes_jobs`: whether the policy
/// gives jobs more than they start with, so that they ask for their most.
std::int32_t asked_replicas(const JobRow& row, const JobSpec& spec, bool sizes_jobs);

/// `sizes_jobs`: as above.
QueueJob queue_job(const QueueTree& tree, const JobRow& row, const JobSpec& spec, bool sizes_jobs);

/// What keeps a job from holding more.
enum class QueueCause : std::uint8_t {
  Limit,      ///< A queue would hold more than it ever may.
  UserLimit,  ///< Its user would.
  Guarantee,  ///< A job that cannot be taken from would hold what is guaranteed to other queues.
  Share,      ///< A queue has what it is entitled to, and others ask for the rest.
};

/// A cause, with the queue that it speaks of.
struct QueueBlock {
  QueueCause cause;
  std::uint32_t queue = 0;
};

/// Sums over the live jobs, kept as they change. The tree must outlive it.
class QueueLoads {
 public:
  explicit QueueLoads(const QueueTree& tree);

  /// Forgets all jobs.
  void clear();

  void add(const QueueJob& job) { count(job, 1); }

  /// Takes out a job exactly as it was added.
  void remove(const QueueJob& job) { count(job, -1); }

  /// Counts `more` as held by the job's queue and user, as if its `use` had grown by it.
  void hold(const QueueJob& job, const QueueUse& more);

  /// Of the queue with those below it.
  const QueueUse& use(std::uint32_t queue) const { return queues_[queue].use; }

  std::int64_t waiting(std::uint32_t queue) const { return queues_[queue].waiting; }

  std::int64_t holding(std::uint32_t queue) const { return queues_[queue].holding; }

  /// Held by the jobs of one user in a queue that limits users; nothing where it does not.
  QueueUse use_of(std::uint32_t queue, std::string_view user) const;

  /// What there is to share: usable devices, and of the rest what is free and what jobs hold.
  QueueScale scale(std::int64_t devices_usable, const FreeIndex& free) const;

  /// How many queues there are, with the whole.
  std::size_t queues() const { return queues_.size(); }

  /// By queue: what its jobs ask for, of each user no more than the queue lets it have. `vain`:
  /// jobs among them, each with as much of its `want` as does not count (VainWants).
  std::vector<QueueUse> wants(const QueueScale& scale, std::span<const QueueJob> vain = {}) const;

  /// What keeps the job from holding `more` beside what is counted, whatever others ask for: limits
  /// of queues and users and, for a job that cannot be taken from, guarantees of others.
  std::optional<QueueBlock> block(const QueueScale& scale,
                                  const QueueJob& job,
                                  const QueueUse& more) const;

  /// Whether nothing that jobs of other queues gave up would let the waiting job start: a limit of
  /// its own queue, or of its user there, keeps it, or `gang` alone is more than a limit above or
  /// than the cluster has now, or, where it cannot be taken from, what is guaranteed to others
  /// keeps it.
  bool is_barred(const QueueScale& scale, const QueueJob& job, const QueueUse& gang) const;

 private:
  struct Queue {
    QueueUse use;
    QueueUse fixed;
    std::int64_t waiting = 0;
    std::int64_t holding = 0;
  };

  struct User {
    QueueUse use;
    QueueUse want;
  };

  void count(const QueueJob& job, int sign);

  std::int64_t reserved(const QueueScale& scale, std::uint32_t queue, const QueueUse& more) const;

  const QueueTree& tree_;
  std::vector<Queue> queues_;
  std::map<std::pair<std::uint32_t, std::string>, User> users_;  ///< By queue and name.
};

}  // namespace orrery
