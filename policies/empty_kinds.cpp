#include "policies/empty_kinds.hpp"

#include <algorithm>

#include "policies/changes.hpp"

namespace orrery::policies {

void EmptyKinds::begin(const ClusterView& view) {
  view_ = &view;
  cleared_ = false;
  known_.clear();
}

bool EmptyKinds::are_as_before() {
  if (!cleared_) clear_cluster();
  NodeFree of_no_use;
  of_no_use.usable = false;
  const FreeIndex& nodes = trial_.index();
  bool same = before_.size() == nodes.size();
  before_.resize(nodes.size(), of_no_use);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    const NodeFree& at = nodes.at(NodeId{n});
    const NodeFree& now = at.usable && !at.model.is_none() ? at : of_no_use;
    if (before_[n] == now) continue;
    before_[n] = now;
    same = false;
  }
  return same;
}

bool EmptyKinds::holds(const JobView& job, std::int32_t replicas, DeviceModelId model) {
  const std::vector<DeviceModelId>& models = that_hold(job, replicas);
  return std::binary_search(models.begin(), models.end(), model);
}

const std::vector<DeviceModelId>& EmptyKinds::that_hold(const JobView& job, std::int32_t replicas) {
  GangShape shape = shape_of(job);
  shape.replicas = replicas;
  const auto [entry, is_new] = known_.try_emplace(shape);
  if (is_new) entry->second = look(job, replicas);
  return entry->second;
}

std::vector<DeviceModelId> EmptyKinds::look(const JobView& job, std::int32_t replicas) {
  if (!cleared_) clear_cluster();

  struct Room {
    std::int64_t thousandths = 0;
    std::int64_t replicas = 0;
  };

  std::map<DeviceModelId, Room> kinds;
  for (std::uint32_t n = 0; n < trial_.index().size(); ++n) {
    const NodeFree& node = trial_.index().at(NodeId{n});
    if (!node.usable || node.model.is_none()) continue;
    Room& room = kinds[node.model];
    room.thousandths += node.thousandths();
    room.replicas += replicas_that_fit(node, job.row.demand);
  }
  const std::int64_t wanted = job.row.thousandths_at(replicas);
  const bool is_sole_role = job.spec.roles.size() == 1;
  const bool is_seated = view_->is_seated(job.row.id);
  std::vector<DeviceModelId> out;
  for (const auto& [model, room] : kinds) {
    if (wanted > room.thousandths) continue;
    const bool holds = is_sole_role ? replicas <= room.replicas
                                    : is_seated || holds_all_roles(job, replicas, model);
    if (holds) out.push_back(model);
  }
  return out;
}

bool EmptyKinds::holds_all_roles(const JobView& job, std::int32_t replicas, DeviceModelId model) {
  const std::size_t mark = trial_.mark();
  std::vector<NodeCount> nodes;
  const auto fits = [&](Demand demand, std::int32_t count) {
    if (demand.thousandths() > 0) {
      if (!demand.model.is_none() && demand.model != model) return false;
      demand.model = model;
    }
    nodes.clear();
    return place(*view_, job.row.id, demand, count, trial_, nodes);
  };
  bool all = fits(job.row.demand, replicas);
  for (std::size_t r = 0; all && r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role != job.row.elastic)
      all = fits(view_->demand_of(job.spec, role), view_->target(job.row.id, role));
  }
  trial_.undo(mark);
  return all;
}

void EmptyKinds::clear_cluster() {
  trial_.sync(view_->capacity());
  give_back_all(*view_, trial_);
  cleared_ = true;
}

}  // namespace orrery::policies
