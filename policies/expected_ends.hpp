// When running jobs are expected to end, and what is free by then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/sparse_array.hpp"
#include "core/plan/cluster_view.hpp"
#include "policies/end_order.hpp"

namespace orrery::policies {

/// When the job ends by its estimate, counted from its present allocation. Never for a job without
/// devices, and for one that is giving them back: they count as free now.
Instant estimated_end(const JobRow& row);

/// An amount on one node. `thousandths` are of shares.
struct NodeAmount {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int32_t devices = 0;
  std::int32_t thousandths = 0;

  friend bool operator==(const NodeAmount&, const NodeAmount&) = default;

  void add(const NodeAmount& other, std::int32_t times) {
    cpu += other.cpu * times;
    memory += other.memory * times;
    devices += other.devices * times;
    thousandths += other.thousandths * times;
  }
};

using NodePiece = std::pair<NodeId, NodeAmount>;

/// What a job holds, by node. Most jobs are on one: theirs needs no memory of its own, which would
/// not be in the cache.
class HeldPieces {
 public:
  void assign(std::span<const NodePiece> pieces) {
    many_.clear();
    if (pieces.size() == 1)
      one_ = pieces.front();
    else
      many_.assign(pieces.begin(), pieces.end());
    count_ = pieces.size();
  }

  /// As they were assigned.
  std::span<const NodePiece> list() const {
    return count_ == 1 ? std::span(&one_, 1) : std::span(many_);
  }

 private:
  std::size_t count_ = 0;
  NodePiece one_;
  std::vector<NodePiece> many_;
};

/// Jobs by expected end with what each holds. Kept from view to view, so that a question about the
/// future costs what changed since the last one, not a walk over all jobs that run.
class ExpectedEnds {
 public:
  /// Forgets every job.
  void clear();

  /// The job holds what the view says, until `at`; never: it has no expected end and is forgotten.
  void set(const ClusterView& view, JobId job, Instant at);

  /// The job will hold `nodes` of its elastic demand, and `devices` in all, until `at`.
  void set(const JobRow& row, std::span<const NodeCount> nodes, Instant at);

  /// Each holder outside of the view has its devices until its estimate says. To be called at each
  /// view, after `clear` where `touched_complete` is false.
  void set_others(const ClusterView& view);

  /// Calls visit(at, devices) in the order of ends, then of ids, until it returns false.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (EndOrder::Place p = order_.begin(); p != order_.end(); p = order_.next(p))
      if (!visit(order_.at(p).at, ends_[order_.at(p).slot].devices)) return;
  }

  /// Whether some that end hold parts of devices, which come free as a whole with the last of those
  /// that share them.
  bool any_in_parts() const { return in_parts_ > 0; }

  /// The first expected end, in that order, by which the job fits on what is free now (`spare`) and
  /// what ended until then; empty where it never does.
  /// Jobs of one role: the search goes on from where the last one stopped.
  std::optional<Instant> first_fit(const ClusterView& view,
                                   const FreeIndex& spare,
                                   const JobView& job);

  /// After `first_fit` has found an end: the other ends of that instant count as well.
  void take_all_at_end();

  /// After `first_fit` has found a place for the job: puts it there and looks at the cluster at
  /// `at`, the time found or later. Nothing may be `set` in between.
  void look_at(const ClusterView& view, const JobView& job, Instant at);

  /// Where `look_at` put the job, ascending.
  std::span<const NodeCount> fit() const { return fit_; }

  /// It was found by trying: what `left_at` says has changed there, even if the place has not.
  bool fit_was_tried() const { return attempted_; }

  /// One replica there.
  const Demand& demand_of_fit() const { return demand_; }

  /// What the node of `fit` has free at the time of `look_at`, the job being there.
  NodeFree left_at(const NodeCount& at) const;

  /// Appends the nodes for which `left_at` may say something else than at the last call for the
  /// same job in the same place; possibly repeated. False where that may be any.
  bool take_moved(std::vector<NodeId>& out);

 private:
  using Amount = NodeAmount;
  using Piece = NodePiece;
  using Pieces = std::vector<Piece>;

  struct End {
    Instant at;
    std::int32_t devices = 0;
    HeldPieces held;  ///< Ascending by node, one for each.
  };

  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  struct Slot {
    std::uint32_t at = kNoSlot;
  };

  /// What all ends up to a mark give back, per node.
  struct Prefix {
    bool any = false;  ///< False: the mark is before every end.
    EndKey mark;
    std::vector<Amount> sums;  ///< [node]

    bool covers(const EndKey& key) const { return any && !(mark < key); }
  };

  static void append(const Demand& demand, std::span<const NodeCount> nodes, Pieces& out);
  static void put_in_order(Pieces& pieces);
  static NodeFree sum(NodeFree free, const Amount& more);
  static bool counting_is_exact(const JobView& job);
  static bool has_parts(const End& end);

  void put(JobId job, Instant at, std::int32_t devices);
  void erase(JobId job);
  void add(Prefix& prefix, const End& end, std::int32_t times);
  void sync(const FreeIndex& spare);
  void update(NodeId node);
  void note_move(NodeId node);
  void restart();
  EndOrder::Place after_mark() const;
  void give(EndOrder::Place place);

  const End& end_at(EndOrder::Place place) const { return ends_[order_.at(place).slot]; }

  bool step_forward();
  bool step_back();
  bool fits(const ClusterView& view, const JobView& job);
  bool counts_without_last(const JobView& job) const;
  bool try_job(const ClusterView& view, const JobView& job);
  void look_until(Instant at);

  EndOrder order_;
  std::vector<End> ends_;  ///< [slot]
  std::vector<std::uint32_t> free_slots_;
  std::size_t in_parts_ = 0;       ///< Ends of jobs that hold parts of devices.
  SparseArray<Slot, 64> slot_of_;  ///< By job: where its end is.
  Prefix near_;                    ///< Up to the last answer of `first_fit`.
  Prefix far_;                     ///< Up to the time of `look_at`.
  FreeIndex future_;               ///< `spare_` and what `near_` gives back.
  std::vector<NodeId> stale_;      ///< Nodes whose sums of `near_` changed, but not yet `future_`.
  const FreeIndex* spare_ = nullptr;
  std::uint64_t spare_version_ = 0;
  CapacityTrial attempt_{TrialTime::Later};  ///< `future_` with the job of `look_at`, where needed.
  bool attempted_ = false;                   ///< It was: the job has no plain place.
  Demand demand_;                            ///< See `demand_of_fit`.
  std::vector<NodeCount> fit_;               ///< See `fit`.
  std::vector<NodeId> moved_;                ///< See `take_moved`.
  bool all_moved_ = true;
  Pieces pieces_;  ///< Scratch, as the next one.
  std::vector<NodeId> changed_;
};

}  // namespace orrery::policies
