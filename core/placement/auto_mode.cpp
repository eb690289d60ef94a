// The dynamic mode: pools in the order actor, rollout, inference cover the cluster, and actor runs
// on every accelerator (rule M2).
#include <algorithm>
#include <string>
#include <utility>

#include "core/placement/mode_choice.hpp"

namespace orrery::placement {
namespace {

RankRange all_of(const Selection& selection) { return {0, selection.resources - 1}; }

/// Whether both number the same devices, each once.
bool same_resources(const Selection& a, const Selection& b) {
  return a.resources == b.resources && devices_of(a, all_of(a)) == devices_of(b, all_of(b));
}

/// Whether the pools lie one after the other over all of `resources` ranks.
bool cover(const std::vector<RankRange>& pools, std::int64_t resources) {
  std::int64_t next = 0;
  for (const RankRange& pool : pools) {
    if (pool.first != next) return false;
    next = pool.last + 1;
  }
  return next == resources;
}

}  // namespace

std::vector<const DevicePool*> ModeChoice::ordered_pools() const {
  std::vector<const DevicePool*> pools{&*actor_, &*rollout_};
  if (inference_) pools.push_back(&*inference_);
  return pools;
}

std::optional<RankRange> ModeChoice::cluster_ranks(const DevicePool& pool) const {
  std::optional<RankRange> range;
  for (const DeviceSpan& span : pool.devices()) {
    const auto node = std::lower_bound(
        cluster_->nodes.begin(),
        cluster_->nodes.end(),
        span.node_rank,
        [](const NodeResources& n, std::int32_t rank) { return n.node_rank < rank; });
    const bool known = span.type == kAcceleratorType && node != cluster_->nodes.end() &&
                       node->node_rank == span.node_rank;
    if (!known) return std::nullopt;
    const RankRange next{node->first + span.first, node->first + span.last};
    if (range && next.first != range->last + 1) return std::nullopt;
    range = RankRange{range ? range->first : next.first, next.last};
  }
  return range;
}

std::optional<ModeChoice::WholeCluster> ModeChoice::number_through() {
  const std::vector<const DevicePool*> pools = ordered_pools();
  const bool together = std::all_of(pools.begin(), pools.end(), [&](const DevicePool* pool) {
    return &pool->selection() == &actor_->selection();
  });
  WholeCluster whole;
  // Groups that hold the whole cluster are kept; otherwise the cluster's own numbering joins them.
  if (together && same_resources(actor_->selection(), *cluster_)) {
    whole.selection = &actor_->selection();
    for (const DevicePool* pool : pools) whole.pools.push_back(pool->ranks);
    return whole;
  }
  whole.selection = &*cluster_;
  for (const DevicePool* pool : pools) {
    const auto ranks = cluster_ranks(*pool);
    if (!ranks) return std::nullopt;
    whole.pools.push_back(*ranks);
  }
  return whole;
}

std::optional<ModePlan> ModeChoice::automatic() {
  const bool apart = !same_devices(*actor_, *rollout_);
  if (apart && !check_disjoint()) return std::nullopt;
  PlacementErrors none;
  cluster_ = select_groups(
      inventory_, {{std::string(kClusterLabel), {}}}, ErrorSink(none, Stage::Parse, "cluster"));
  if (!cluster_) return std::nullopt;
  if (cluster_->is_nodes()) {
    const std::vector<const DevicePool*> pools = ordered_pools();
    // Pools of nodes are told in stage resolve; those of other hardware have no cluster to cover.
    if (std::ranges::none_of(pools, [](const auto* pool) { return pool->selection().is_nodes(); }))
      tell(ErrorKind::AutoOrder,
           actor_->at(),
           {"pools of the dynamic mode on a cluster without accelerators",
            "accelerators, for actor runs on all of them",
            "remove cluster.auto_scheduler, or place on nodes with accelerators"});
    return std::nullopt;
  }
  const auto whole = apart ? number_through() : std::nullopt;
  if (!whole || !cover(whole->pools, cluster_->resources)) {
    tell(ErrorKind::AutoOrder,
         actor_->at(),
         {"pools of the dynamic mode in another order or on a part of the cluster",
          "actor, rollout and then inference, which together cover " + to_text(all_of(*cluster_)),
          "place actor from resource 0 on, rollout behind it and inference last"});
    return std::nullopt;
  }
  check_inference();
  check_tensor_fits();
  check_engines(*rollout_, 1, engine_size());
  RankRange rollout = whole->pools[1];
  if (sizes_.use_pre_process_policy) {
    // At first rollout has the devices of actor as well.
    check_engines(*actor_, 1, engine_size());
    rollout.first = whole->pools[0].first;
  }
  if (!sound_) return std::nullopt;
  ModePlan plan;
  plan.mode = Mode::Auto;
  plan.actor = PackingPlan{whole->selection, {all_of(*whole->selection), 1, 1}};
  plan.rollout = PackingPlan{whole->selection, {rollout, engine_size(), 1}};
  return plan;
}

}  // namespace orrery::placement
