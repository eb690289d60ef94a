// What jobs may take beside the one that has a reservation.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/expected_ends.hpp"

namespace orrery::policies {

/// What is free now, less what a job needs at a later time: `ExpectedEnds::look_at` has put it
/// somewhere, and what others take there for longer must lie within what it leaves. Kept from call
/// to call, so that one costs what changed since the last.
class Beside {
 public:
  /// Brings the capacity up to date after `look_at`; `spare` is what is free now.
  void sync(const FreeIndex& spare, ExpectedEnds& ends);

  const FreeIndex& index() const { return index_; }

  /// Until the next `sync`, and only where the same is taken from what is free now: takes replicas;
  /// leaves on the node no more than lies within `most` as well.
  void take(const NodeCount& at, const Demand& demand) {
    index_.take(at.node, demand, at.replicas);
  }

  void reduce(NodeId node, const NodeFree& most) { set(node, least_of(index_.at(node), most)); }

 private:
  static constexpr std::int32_t kNoFit = -1;

  void follow_fit(const ExpectedEnds& ends);
  void update(NodeId node, const ExpectedEnds& ends);
  void set(NodeId node, const NodeFree& free);

  const FreeIndex* spare_ = nullptr;
  std::uint64_t spare_version_ = 0;
  Demand demand_;                       ///< Of a replica of `fit_`.
  std::vector<NodeCount> fit_;          ///< Where the job was put.
  std::vector<std::int32_t> replicas_;  ///< [node] -> of those, or kNoFit.
  FreeIndex index_;
  std::vector<NodeId> changed_;  ///< Scratch.
};

}  // namespace orrery::policies
