// Trying whole jobs on spare capacity: start, take back, put back, make room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/parts_given.hpp"

namespace orrery::policies {

/// Appends a grant that names its nodes.
void grant_on(JobId id, std::int32_t replicas, std::span<const NodeCount> nodes, Plan& plan);

/// What policies ask of a start, a preemption and a move. Holds no state that outlives a call but
/// the reused trial, so it need not be saved.
class GangStarter {
 public:
  /// Begins one call of `allocate` or `optimize`. The trial is synchronised when first needed.
  void begin(const ClusterView& view) {
    view_ = &view;
    synced_ = false;
    removed_.clear();
    started_.clear();
    started_nodes_.clear();
    kept_.clear();
  }

  /// The spare capacity as tried so far in this call.
  CapacityTrial& trial() {
    if (!synced_) trial_.sync(view_->capacity());
    synced_ = true;
    return trial_;
  }

  /// Devices that no job holds, less what this call has given away.
  std::int64_t free_devices() const { return index().free_devices(); }

  /// As above with parts of devices added up: no job that needs more (JobRow::gang_room) can start.
  std::int64_t device_room() const { return index().device_room(); }

  /// Whether quotas let the job hold so much beside what this call has started.
  bool quota_allows(JobId id, std::int32_t devices) const;

  /// The same for the job's minimum.
  bool quota_allows(JobId id) const { return quota_allows(id, view_->row(id).gang_devices()); }

  /// Grants the job its minimum if quota and capacity allow; the placer chooses the nodes.
  bool start(JobId id, Plan& plan);

  /// What came of an attempt to make room.
  enum class Outcome { Started, NotEnough, NoVictims };

  /// As `start`, after taking back from other jobs what it needs.
  /// `victims(visit)` calls `visit(JobId)` for each job that may be taken from, the first to go
  /// first, until it answers false. Takes no more than needed: a job that turns out not to stand in
  /// the way keeps its nodes. Unless it started the job, nothing changed.
  template <class Victims>
  Outcome start_over(JobId id, Victims&& victims, Plan& plan) {
    const JobRow& row = view_->row(id);
    // Counting first: most candidates are refused here, without touching the trial.
    const std::int32_t needed = row.gang_room();
    std::int64_t within_reach = device_room();
    bool any = false;
    victims([&](JobId victim) {
      if (is_removed(victim)) return true;
      any = true;
      within_reach += devices_of(victim);
      return within_reach < needed;
    });
    if (!any) return Outcome::NoVictims;
    if (within_reach < needed || !quota_allows(id, row.gang_devices()) || !may_start_rest(id, true))
      return Outcome::NotEnough;
    const bool started = take_from(view_->job(id), std::forward<Victims>(victims), plan);
    return started ? Outcome::Started : Outcome::NotEnough;
  }

  /// Gives back what the job holds beyond `kept`, a part of its elastic replicas; for the rest of
  /// this call the job holds no more than that.
  void shrink(JobId id, std::vector<NodeCount> kept);

  /// One job that this call has started, and where the trial put its elastic replicas.
  struct Started {
    JobId job;
    std::uint32_t first_node;
    std::uint32_t node_count;
  };

  std::span<const Started> started() const { return started_; }

  std::span<const NodeCount> nodes_of(const Started& s) const {
    return std::span(started_nodes_).subspan(s.first_node, s.node_count);
  }

  /// Grants the job its minimum on nodes that were chosen elsewhere and have room.
  void start_on(JobId id, std::span<const NodeCount> nodes, Plan& plan);

  /// Whether the job still has to find places for roles that no plan names.
  bool needs_rest(JobId id) const;

  /// Ends the call. A plan is one change: what it preempts is free for its first grant already. So
  /// where it preempts, every start names its nodes, and those that also need places for other
  /// roles come last, but for jobs with seats.
  void finish(Plan& plan) const;

  /// The jobs that this call has preempted.
  std::span<const JobId> removed() const { return removed_; }

  /// Whether this call has preempted the job.
  bool is_removed(JobId id) const {
    return std::find(removed_.begin(), removed_.end(), id) != removed_.end();
  }

 private:
  const FreeIndex& index() const { return synced_ ? trial_.index() : view_->capacity(); }

  template <class Victims>
  bool take_from(const JobView& job, Victims&& victims, Plan& plan) {
    std::vector<JobId> taken;
    const std::size_t mark = trial().mark();
    nodes_.clear();
    bool fits = false;
    victims([&](JobId victim) {
      if (is_removed(victim)) return true;
      give_back(*view_, held_by(victim), trial());
      taken.push_back(victim);
      fits = device_room() >= job.row.gang_room() &&
             try_start(*view_, job, job.row.min_replicas, trial(), &nodes_);
      if (fits && have_parts(*view_, taken) && !fits_without(job, mark, taken)) {
        trial().undo(mark);
        for (const JobId id : taken) give_back(*view_, held_by(id), trial());
        nodes_.clear();
        fits = false;
      }
      return !fits;
    });
    if (!fits) {
      trial().undo(mark);
      return false;
    }
    // The last one made the difference; of the others, the last to go is the first to be spared.
    if (view_->is_seated(job.row.id) || have_parts(*view_, taken)) {
      spare_by_devices(job, mark, taken);
    } else {
      for (std::size_t i = taken.size() - 1; i-- > 0;)
        if (put_back(taken[i])) taken[i] = JobId::none();
      std::erase(taken, JobId::none());
    }
    for (const JobId victim : taken) plan.preempt(victim);
    removed_.insert(removed_.end(), taken.begin(), taken.end());
    grant_on(job.row.id, job.row.min_replicas, nodes_, plan);
    remember(job.row.id, nodes_);
    return true;
  }

  /// Whether this call takes something back, so that its starts have to name their nodes.
  bool names_nodes() const { return !removed_.empty() || !kept_.empty(); }

  /// A call that names nodes starts at most one such job: the roles of two could take the places of
  /// each other.
  bool may_start_rest(JobId id, bool names_nodes) const;

  /// The job with what it holds after `shrink`.
  JobView held_by(JobId id) const;

  std::int32_t devices_of(JobId id) const;

  void remember(JobId id, std::span<const NodeCount> nodes);

  /// Takes in the trial exactly what the job holds, or nothing.
  bool put_back(JobId id);

  /// Whether the job fits where `gone` have gone, by the devices on which their parts are; the
  /// trial is left so, with the job in it. `mark`: of the trial before anyone gave.
  bool fits_without(const JobView& job, std::size_t mark, std::span<const JobId> gone);

  /// Leaves in `taken`, but for its last one, those alone whose devices the job needs: its seats,
  /// or whole ones of which others have parts. By count any of them could be spared. `mark`: of
  /// the trial before they gave.
  void spare_by_devices(const JobView& job, std::size_t mark, std::vector<JobId>& taken);

  const ClusterView* view_ = nullptr;
  CapacityTrial trial_;
  bool synced_ = false;
  std::vector<JobId> removed_;
  std::map<JobId, std::vector<NodeCount>> kept_;
  std::vector<Started> started_;
  std::vector<NodeCount> started_nodes_;
  std::vector<NodeCount> nodes_;
};

}  // namespace orrery::policies
