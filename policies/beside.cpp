#include "policies/beside.hpp"

#include <algorithm>

namespace orrery::policies {

void Beside::set(NodeId node, const NodeFree& free) {
  if (!(index_.at(node) == free)) index_.set(node, free);
}

void Beside::update(NodeId node, const ExpectedEnds& ends) {
  const std::int32_t replicas = replicas_[node.index()];
  const NodeFree& now = spare_->at(node);
  set(node, replicas == kNoFit ? now : least_of(now, ends.left_at({node, replicas})));
}

// Nodes that the job was on and those that it is on now have changed.
void Beside::follow_fit(const ExpectedEnds& ends) {
  for (const NodeCount& at : fit_) {
    replicas_[at.node.index()] = kNoFit;
    changed_.push_back(at.node);
  }
  fit_.assign(ends.fit().begin(), ends.fit().end());
  demand_ = ends.demand_of_fit();
  for (const NodeCount& at : fit_) {
    replicas_[at.node.index()] = at.replicas;
    changed_.push_back(at.node);
  }
}

void Beside::sync(const FreeIndex& spare, ExpectedEnds& ends) {
  changed_.clear();
  bool follows = spare_ == &spare && index_.size() == spare.size();
  follows = follows && spare.changed_since(spare_version_, changed_);
  // Asked also where it is not needed: next time only what changes from now on is of interest.
  follows = ends.take_moved(changed_) && follows;
  spare_ = &spare;
  spare_version_ = spare.version();
  if (!follows) {
    changed_.clear();
    fit_.clear();
    index_.become(spare);
    replicas_.assign(spare.size(), kNoFit);
    follow_fit(ends);
  } else if (ends.fit_was_tried() || !(demand_ == ends.demand_of_fit()) ||
             !std::equal(fit_.begin(), fit_.end(), ends.fit().begin(), ends.fit().end())) {
    follow_fit(ends);
  }
  for (const NodeId node : changed_) update(node, ends);
}

}  // namespace orrery::policies
