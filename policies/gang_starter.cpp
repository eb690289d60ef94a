#include "policies/gang_starter.hpp"

#include "core/base/invariant.hpp"
#include "core/plan/put_back.hpp"
#include "policies/parts_given.hpp"
#include "policies/quotas.hpp"
#include "policies/spare_victims.hpp"

namespace orrery::policies {

void grant_on(JobId id, std::int32_t replicas, std::span<const NodeCount> nodes, Plan& plan) {
  plan.grants.push_back({id,
                         RoleIndex::none(),
                         replicas,
                         static_cast<std::uint32_t>(plan.nodes.size()),
                         static_cast<std::uint32_t>(nodes.size())});
  plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
}

void GangStarter::remember(JobId id, std::span<const NodeCount> nodes) {
  started_.push_back({id,
                      static_cast<std::uint32_t>(started_nodes_.size()),
                      static_cast<std::uint32_t>(nodes.size())});
  started_nodes_.insert(started_nodes_.end(), nodes.begin(), nodes.end());
}

void GangStarter::start_on(JobId id, std::span<const NodeCount> nodes, Plan& plan) {
  const JobRow& row = view_->row(id);
  for (const NodeCount& n : nodes) trial().take(n.node, row.demand, n.replicas);
  grant_on(id, row.min_replicas, nodes, plan);
  remember(id, nodes);
}

bool GangStarter::needs_rest(JobId id) const {
  const JobView job = view_->job(id);
  return !job.row.holds && job.spec.roles.size() > 1;
}

bool GangStarter::may_start_rest(JobId id, bool names_nodes) const {
  if (!names_nodes) return true;
  const auto others = std::count_if(
      started_.begin(), started_.end(), [&](const Started& s) { return needs_rest(s.job); });
  return others + (needs_rest(id) ? 1 : 0) <= 1;
}

void GangStarter::finish(Plan& plan) const {
  if (!names_nodes()) return;
  for (const Started& s : started_)
    for (Grant& grant : plan.grants) {
      if (grant.job != s.job || grant.node_count > 0) continue;
      grant.first_node = static_cast<std::uint32_t>(plan.nodes.size());
      grant.node_count = s.node_count;
      const std::span<const NodeCount> nodes = nodes_of(s);
      plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
    }
  // One with seats keeps its turn: what starts before it, on any devices, would take its seats.
  std::stable_partition(plan.grants.begin(), plan.grants.end(), [&](const Grant& grant) {
    return !needs_rest(grant.job) || view_->is_seated(grant.job);
  });
}

bool GangStarter::quota_allows(JobId id, std::int32_t devices) const {
  const JobRow& row = view_->row(id);
  if (has_quota(row))
    for (const Started& s : started_) {
      const JobRow& other = view_->row(s.job);
      if (share_quota(row, other) && s.job != id) devices += other.gang_devices();
    }
  return view_->quota_allows(id, devices);
}

bool GangStarter::start(JobId id, Plan& plan) {
  const JobView job = view_->job(id);
  if (job.row.gang_room() > device_room()) return false;
  if (!quota_allows(id, job.row.gang_devices()) || !may_start_rest(id, names_nodes())) return false;
  nodes_.clear();
  if (!try_start(*view_, job, job.row.min_replicas, trial(), &nodes_)) return false;
  plan.grant(id, job.row.min_replicas);
  remember(id, nodes_);
  return true;
}

void GangStarter::shrink(JobId id, std::vector<NodeCount> kept) {
  const JobView job = view_->job(id);
  // Only what goes is given: taking a part of a device does not undo its giving.
  for (const NodeCount& n : job.nodes) {
    std::int32_t goes = n.replicas;
    for (const NodeCount& k : kept)
      if (k.node == n.node) goes -= k.replicas;
    if (goes > 0) trial().give(n.node, job.row.demand, goes);
  }
  kept_[id] = std::move(kept);
}

JobView GangStarter::held_by(JobId id) const {
  const JobView job = view_->job(id);
  const auto kept = kept_.find(id);
  return kept == kept_.end() ? job : JobView{job.row, job.spec, kept->second};
}

std::int32_t GangStarter::devices_of(JobId id) const {
  const JobRow& row = view_->row(id);
  const auto kept = kept_.find(id);
  if (kept == kept_.end()) return row.devices_held;
  std::int32_t devices = row.rest_devices;
  for (const NodeCount& n : kept->second) devices += n.replicas * row.demand.devices;
  return devices;
}

bool GangStarter::fits_without(const JobView& job, std::size_t mark, std::span<const JobId> gone) {
  trial().undo(mark);
  nodes_.clear();
  for (const JobId id : gone) give_back(*view_, held_by(id), trial());
  // What others gave before in this call the ledger has as theirs, too.
  std::vector<JobId> shrunk;
  for (const auto& [id, nodes] : kept_) shrunk.push_back(id);
  settle_parts_of(*view_, {gone, removed_, shrunk}, trial());
  return try_start(*view_, job, job.row.min_replicas, trial(), &nodes_);
}

void GangStarter::spare_by_devices(const JobView& job,
                                   std::size_t mark,
                                   std::vector<JobId>& taken) {
  const auto fits = [&](const std::vector<JobId>& victims) {
    return fits_without(job, mark, victims);
  };
  spare_victims(taken, 0, taken.size() - 1, fits);
  const bool fits_still = fits(taken);
  invariant(fits_still, "the job fits where those gave that it needs");
}

bool GangStarter::put_back(JobId id) { return orrery::put_back(*view_, held_by(id), trial()); }

}  // namespace orrery::policies
