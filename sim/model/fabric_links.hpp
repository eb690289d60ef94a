// The nodes' links to the fabric: faults of their bandwidth, and who is told of their use.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sim/model/cluster_state.hpp"
#include "sim/model/staged_work.hpp"

namespace orrery::sim {

/// Told at an instant what share of each of the fabric's links is in use.
using LinkWatcher = std::function<void(Instant, std::span<const double>)>;

class FabricLinks {
 public:
  /// `cluster` outlives the object, and `staged`, which is null without a fabric.
  FabricLinks(ClusterState& cluster, StagedWork* staged) : cluster_(cluster), staged_(staged) {}

  /// The links of the fault's nodes, or of all where it names none, lose bandwidth.
  void slow(const scenarios::Fault& fault);

  /// A future of kind LinkWhole: a fault of the link is over.
  void restore(NodeId node) { set_share(node); }

  /// From now on `watcher` is told every `every`, above 0; less often as the run goes on, about a
  /// thousand times for each doubling of its time. There must be a fabric.
  void watch(Duration every, LinkWatcher watcher);

  /// A future of kind LinkSample. `more_to_come`: something else will happen.
  template <class MoreToCome>
  void sample(MoreToCome more_to_come) {
    tell_watcher();
    // Where nothing else will happen, looking would never end.
    if (more_to_come())
      cluster_.future.push(cluster_.now + samples_every_, FutureKind::LinkSample, 0);
  }

 private:
  void slow_one(NodeId node, const scenarios::Fault& fault);

  /// What the faults that last leave of the link's bandwidth.
  void set_share(NodeId node);
  void tell_watcher();

  ClusterState& cluster_;
  StagedWork* staged_;
  LinkWatcher watcher_;
  Duration samples_every_;
  std::int64_t samples_ = 0;
};

}  // namespace orrery::sim
