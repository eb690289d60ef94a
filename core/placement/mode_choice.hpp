// Which mode the pools and the parallel sizes of a model-parallel placement select (rules M1 to
// M6).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/component_rules.hpp"
#include "core/placement/device_pools.hpp"
#include "core/placement/packing.hpp"
#include "core/placement/plan.hpp"

namespace orrery::placement {

/// Components that a mode judges: pools, and reward, which must be there.
inline constexpr std::string_view kActor = "actor";
inline constexpr std::string_view kRollout = "rollout";
inline constexpr std::string_view kInference = "inference";
inline constexpr std::string_view kActorInference = "actor_inference";
inline constexpr std::string_view kCriticInference = "critic_inference";
inline constexpr std::string_view kCritic = "critic";
inline constexpr std::string_view kReward = "reward";

/// Where processes are packed: a numbering of resources and which of them.
struct PackingPlan {
  const Selection* selection = nullptr;  ///< Of the rules or of the mode's choice.
  Packing packing;
};

/// What a mode makes of the components that it moves; all others follow their text.
struct ModePlan {
  Mode mode = Mode::Hybrid;
  std::optional<PackingPlan> actor;
  std::optional<PackingPlan> rollout;
  std::optional<PackingPlan> fixed_worker;     ///< Of no text of its own.
  std::map<std::string, PackingPlan> engines;  ///< Extra ones, by component.
};

/// Chooses the mode and tells, in stage parse, what speaks against it.
class ModeChoice {
 public:
  /// All that is given must outlive the choice.
  ModeChoice(const Inventory& inventory,
             const ReadRules& rules,
             const ParallelSizes& sizes,
             PlacementErrors& errors,
             PlacementErrors& warnings);

  /// The plan of the mode, which refers to the choice; nothing where the mode cannot be told.
  std::optional<ModePlan> choose();

  /// Whether the mode judges the component of the rule, so that its text may only name devices.
  bool judges(const ReadRule& rule, std::string_view name) const;

 private:
  const ReadRule* inference_rule() const;
  void check_presence();
  void check_sizes();
  void read_pools();
  std::optional<DevicePool> pool_of(std::string_view name, const ReadRule* rule);

  std::vector<const DevicePool*> pools() const;
  bool check_disjoint();
  bool check_inference();
  bool check_engines(const DevicePool& pool, std::int64_t stride, std::int64_t engine);
  bool check_tensor_fits();

  std::optional<ModePlan> evaluated();
  std::optional<ModePlan> collocated();
  std::optional<ModePlan> disaggregated();
  std::optional<ModePlan> automatic();
  std::optional<ModePlan> multi_agent();

  void check_reward_beside_actor();
  void check_rollouts_within_actor();
  void check_exclusive();
  void add_engines(ModePlan& plan);
  void add_engine(const ExtraEngine& engine, ModePlan& plan);
  bool check_engine_sizes(const ExtraEngine& engine, const DevicePool& pool);
  void halve_rollout(ModePlan& plan);

  /// Actor, rollout and inference in one numbering that holds all accelerators of the cluster.
  struct WholeCluster {
    const Selection* selection = nullptr;
    std::vector<RankRange> pools;
  };

  std::optional<WholeCluster> number_through();
  std::optional<RankRange> cluster_ranks(const DevicePool& pool) const;
  std::vector<const DevicePool*> ordered_pools() const;

  void tell(ErrorKind kind, TextPosition at, ErrorWords words);
  std::int64_t engine_size() const;

  const Inventory& inventory_;
  const ReadRules& rules_;
  const ParallelSizes& sizes_;
  ErrorSink errors_;
  ErrorSink warnings_;
  bool sound_ = true;
  std::vector<const ReadRule*> with_hole_;  ///< Told already.
  std::optional<Selection> cluster_;        ///< All accelerators; where the mode needs them.
  std::optional<DevicePool> actor_;
  std::optional<DevicePool> rollout_;
  std::optional<DevicePool> inference_;
  std::optional<DevicePool> critic_inference_;
  std::optional<DevicePool> critic_;
};

}  // namespace orrery::placement
