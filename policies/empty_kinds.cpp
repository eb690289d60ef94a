#include "policies/empty_kinds.hpp"

#include "policies/changes.hpp"

namespace orrery::policies {

void EmptyKinds::begin(const ClusterView& view) {
  view_ = &view;
  cleared_ = false;
  known_.clear();
}

bool EmptyKinds::one_holds(const JobView& job, std::int32_t replicas) {
  GangShape shape = shape_of(job);
  shape.replicas = replicas;
  const auto [entry, is_new] = known_.try_emplace(shape, false);
  if (is_new) entry->second = look(job, replicas);
  return entry->second;
}

bool EmptyKinds::look(const JobView& job, std::int32_t replicas) {
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
  for (const auto& [model, room] : kinds)
    if (wanted <= room.thousandths && (!is_sole_role || replicas <= room.replicas)) return true;
  return false;
}

void EmptyKinds::clear_cluster() {
  trial_.sync(view_->capacity());
  give_back_all(*view_, trial_);
  cleared_ = true;
}

}  // namespace orrery::policies
