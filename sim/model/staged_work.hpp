// Work in stages on a fabric: what each job's workers do now, and how far they are. The machine
// cluster decides when work goes on; here it goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/model/live_job.hpp"

namespace orrery::sim {

/// A stage that has come to its end.
struct StageEnd {
  JobId job;
  StageActivity activity = StageActivity::None;
  bool beside = false;  ///< Save: it was written beside the work.
};

/// Runs the stages of all jobs on one fabric, whose nodes are the places of the scenario's wiring.
/// At fidelity L0 nothing ever runs here: it only tells rates.
class StagedWork {
 public:
  /// Both outlive the object.
  StagedWork(const scenarios::Scenario& scenario, Fabric& fabric);

  /// Forms the cycle of the workers that work now, if they are not the ones it was formed of.
  void form(LiveJob& job);

  /// Units per second at fidelity L0, between checkpoints. `form` comes first.
  double alone_rate(const LiveJob& job) const { return job.stages->alone_rate; }

  /// Time that a checkpoint takes the work, or a restore, alone on the network.
  double save_alone_s(const LiveJob& job) const;
  double restore_alone_s(const LiveJob& job) const;

  /// Begins the next stage of the job's work: the rest of the stage that `job.done` is in. Each
  /// second of compute takes `slowness` (1 or more) as long. Nothing of it is under way.
  void work(LiveJob& job, double slowness, Instant now);

  /// Begins a checkpoint, beside the work or in place of it; or a restore.
  void save(LiveJob& job, bool beside, Instant now);
  void restore(LiveJob& job, Instant now);

  /// Brings `job.done` up to now.
  void settle(LiveJob& job, Instant now);

  /// Units per second that the job is to report: as the fabric has it now, as the last stage was,
  /// or as it would be alone.
  double rate(const LiveJob& job, double slowness);

  /// Takes back what is under way, after `settle`. A save or restore in place of the work is due
  /// again.
  void halt(LiveJob& job, Instant now);

  /// The same for good, the checkpoint beside the work included.
  void drop(LiveJob& job, Instant now);

  bool is_under_way() const { return under_way_ > 0; }

  /// When the next stage ends by itself, at most `limit`; `limit` where none does.
  Instant next(Instant limit) { return fabric_.next(limit); }

  /// Time passes up to `now`, at most what `next` returned. Appends what has ended. `find` gives
  /// the job of an id.
  template <class Find>
  void pass_to(Instant now, Find find, std::vector<StageEnd>& ended) {
    complete_.clear();
    fabric_.pass_to(now, complete_);
    for (const StageId id : complete_) ended.push_back(end_of(find(owners_[id.value]), id, now));
  }

  /// Time between two checkpoints of the job; zero: its work is safe at every instant.
  Duration checkpoint_interval(const LiveJob& job) const;

  /// Whether the work waits for its checkpoints.
  bool saves_block(const LiveJob& job) const;

  /// See Fabric.
  void set_link_share(NodeId node, double share, Instant now) {
    fabric_.set_link_share(place_of(node), share, now);
  }

  Fabric& fabric() { return fabric_; }

 private:
  void turn_to(LiveJob& job, std::uint64_t turn);
  void begin(LiveJob& job, StageActivity activity, const Stage& stage, Instant now);
  void own(StageId id, JobId job);
  StageEnd end_of(LiveJob& job, StageId id, Instant now);

  NodeId place_of(NodeId node) const { return places_.empty() ? node : places_[node.index()]; }

  double alone_s(const Stage& stage) const { return fabric_.step_alone_s(stage) * stage.steps; }

  const scenarios::Scenario& scenario_;
  Fabric& fabric_;
  bool on_fabric_;     // Fidelity L1 and above.
  bool renews_flows_;  // L2 and above: long stages are cut, so that flows follow each other.
  std::vector<NodeId> places_;  // [NodeId]: its place in the network; empty: as numbered.
  std::vector<JobId> owners_;   // [StageId]
  std::vector<StageId> complete_;
  std::int64_t under_way_ = 0;
};

}  // namespace orrery::sim
