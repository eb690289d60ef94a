// The devices that a plan of reclaim takes back, and what it starts on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/queues/queue_books.hpp"

namespace orrery::policies {

/// Tries out, in a trial of the free capacity and in the books, what jobs have to give up so that
/// others fit. Nothing is done before `plan`; what was tried in vain can be undone.
class QueueRoom {
 public:
  /// A job that may be taken from, and what is left to it.
  struct Victim {
    JobId job;
    std::vector<NodeCount> nodes;  ///< That the elastic role keeps.
    std::int32_t replicas = 0;     ///< The same.
    std::int32_t before = 0;
    bool is_gone = false;
    bool is_moved = false;  ///< To `nodes`, which are others than it has.
    bool is_kept = false;   ///< It goes for guarantees alone.
  };

  struct Start {
    JobId job;
    std::int32_t replicas;
    std::vector<NodeCount> nodes;
  };

  /// All that was tried until then.
  struct Mark {
    std::size_t trial;
    std::size_t held;
    std::vector<Victim> victims;
  };

  /// The victims in the order in which they go. All of it must outlive this.
  QueueRoom(const ClusterView& view,
            QueueBooks& books,
            CapacityTrial& trial,
            std::vector<Victim> victims)
      : view_(view), books_(books), trial_(trial), victims_(std::move(victims)) {}

  std::vector<Victim>& victims() { return victims_; }

  const std::vector<Start>& starts() const { return starts_; }

  /// What the job's elastic role could take of what is free, in the scale's units; nodes are not
  /// looked at beyond `enough`.
  std::int64_t free_for_growth(const JobView& job, std::int64_t enough) const;

  /// Each try asks the placer; what is left over waits for the next period.
  bool is_exhausted() const { return tries_ >= kTriesMax; }

  Mark mark() const { return {trial_.mark(), books_.held(), victims_}; }

  void undo(const Mark& mark);

  /// Whether the waiting job fits, and no limit keeps it; its nodes are taken then.
  bool fits(const JobView& job, std::vector<NodeCount>& nodes);

  /// Whether it would.
  bool would_fit(const JobView& job);

  /// Takes one replica, the last one on the last node; false where it has none to give.
  bool shrink_one(Victim& victim);

  /// Takes from queues that owe the job's, by and by, until the job fits, and gives back what it
  /// does not need; its nodes are taken then. Where it returns false, what it took is for the
  /// caller to undo. Jobs that others gave way to are taken only for what is guaranteed.
  bool make_room(JobId id, const QueueClaim& claim, std::vector<NodeCount>& nodes);

  /// The job starts at its least size on these nodes, which were taken for it.
  void start(JobId id, std::vector<NodeCount> nodes);

  Plan plan() const;

 private:
  static constexpr int kTriesMax = 2000;

  bool may_give(const Victim& victim, const QueueClaim& claim, std::int64_t at_once = 0) const;
  bool may_go(const Victim& victim, const QueueClaim& claim) const;
  void take_whole(Victim& victim);
  bool limits_keep(JobId id) const;
  void spare(Victim& victim, JobId claimant);
  bool make_place(const JobView& job, std::vector<NodeCount>& nodes);
  bool clear_node(const JobView& job, std::vector<std::size_t>& moved);
  bool place_again(Victim& victim);
  bool take_one(JobId id, const QueueClaim& claim, std::vector<NodeCount>& nodes);

  const ClusterView& view_;
  QueueBooks& books_;
  CapacityTrial& trial_;
  std::vector<Victim> victims_;
  std::vector<Start> starts_;
  int tries_ = 0;
};

}  // namespace orrery::policies
