// A placement, resolved: which process of which component sits on which devices. Nothing is
// started; see docs/placement.md for the language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/inventory.hpp"
#include "core/placement/placement_error.hpp"

namespace orrery::placement {

/// What a component is placed on.
enum class ResourceKind : std::uint8_t { Accelerator, Node, Custom };

/// One process of a component. Names and meaning as in docs/placement_documents.md.
struct Process {
  std::int32_t rank = 0;                 ///< 0..N-1 inside the component.
  std::int32_t node_rank = 0;            ///< Of the cluster.
  std::int32_t placement_node_rank = 0;  ///< Dense, by first appearance in rank order.
  std::int32_t group = 0;                ///< Index into `ComponentPlan::groups`.
  ResourceKind kind = ResourceKind::Accelerator;
  std::vector<std::int32_t> devices;  ///< Node-local index of each resource; empty for nodes.
  std::int32_t local_rank = 0;        ///< Inside node and component.
  std::int32_t local_world_size = 0;

  friend bool operator==(const Process&, const Process&) = default;
};

/// Processes that all components of a document may have together; a text that asks for more is
/// refused before anything is allocated.
inline constexpr std::int64_t kProcessesMax = 1'000'000;

/// One component.
struct ComponentPlan {
  std::string name;
  std::string group_name;                   ///< What its processes call it; empty: `name`.
  std::vector<std::string> groups;          ///< Labels it was placed on, in order.
  std::vector<std::string> hardware_types;  ///< One per group: "Accelerator", "Node" or custom.
  std::vector<Process> processes;           ///< In rank order.

  friend bool operator==(const ComponentPlan&, const ComponentPlan&) = default;
};

/// How components share a cluster.
enum class Mode : std::uint8_t { Hybrid, Collocated, Disaggregated, Auto };

}  // namespace orrery::placement

namespace orrery {

template <>
struct EnumNames<placement::Mode> {
  static constexpr std::array kNames{"hybrid", "collocated", "disaggregated", "auto"};
};

}  // namespace orrery

namespace orrery::placement {

/// Everything placed by one document, in the order in which components were named.
struct Plan {
  Mode mode = Mode::Hybrid;
  bool isolate_accelerators = true;  ///< A process sees its own accelerators only.
  std::vector<ComponentPlan> components;
  PlacementErrors warnings;  ///< What is placed all the same, and is probably not meant.
};

/// Which accelerators of its node the process sees: its own where they are isolated and it has
/// some, else all of the node (rules P16, P19). Ascending; indices in the node.
std::vector<std::int32_t> visible_devices(const Inventory& inventory,
                                          const Process& process,
                                          bool isolate);

/// Its first own accelerator, else the first of its node, else -1.
std::int32_t local_accelerator_rank(const Inventory& inventory, const Process& process);

/// Environment declared for the process' node by its group; null where there is none.
const NodeEnvironment* environment_of(const Inventory& inventory,
                                      const ComponentPlan& component,
                                      const Process& process);

/// One key of `component_placement` as written: which components, on what, how.
struct PlacementRule {
  PlacedText components;                ///< "actor,rollout".
  std::vector<PlacedText> node_groups;  ///< Labels; empty: the whole cluster. Each may hold commas.
                                        ///< An empty label is an undeclared one.
  std::optional<PlacedText> placement;  ///< Empty: the group form lacks it.
};

/// The three strategies that code may ask for by name.
struct PackedStrategy {
  std::int32_t start = 0;
  std::int32_t end = 0;  ///< Inclusive.
  std::int32_t per_process = 1;
  std::int32_t stride = 1;
};

struct FlexibleStrategy {
  std::vector<std::vector<std::int32_t>> devices;  ///< Per process.
};

struct NodeStrategy {
  std::vector<std::int32_t> nodes;  ///< Of the selection; one process each.
};

/// By which of RLinf's classes the pools of a model-parallel placement are joined.
enum class PoolRules : std::uint8_t {
  Training,              ///< The pools select the mode (M1, M2).
  Evaluation,            ///< Nothing trains: rollout alone is packed (M3).
  MultiAgent,            ///< Engines of several agents within the actor's devices (M4).
  MultiAgentEvaluation,  ///< The same, and nothing trains.
};

/// An engine beside rollout's, packed over its own devices as rollout is over its (rule M5).
struct ExtraEngine {
  std::string component;
  bool is_configured = false;  ///< The document has a section of its name.
  std::int32_t tensor = 0;     ///< Its own sizes, at least 1; 0: not written.
  std::int32_t pipeline = 0;
  std::int32_t replicas = 0;
};

/// Parallel sizes that choose a mode; each at least 1.
struct ParallelSizes {
  std::int32_t actor_tensor = 1;
  std::int32_t actor_context = 1;
  std::int32_t actor_pipeline = 1;
  std::int32_t rollout_tensor = 1;
  std::int32_t rollout_pipeline = 1;
  std::int32_t inference_tensor = 1;
  std::int32_t inference_context = 1;
  std::int32_t inference_pipeline = 1;
  std::int32_t critic_inference_tensor = 1;
  bool recompute_logprobs = true;
  bool auto_scheduler = false;
  bool use_pre_process_policy = false;
  PoolRules rules = PoolRules::Training;
  std::vector<ExtraEngine> engines;
  bool halves_rollout = false;  ///< The second half of rollout's devices is `kFixedWorker`'s (M6).
  std::int32_t fixed_worker_tensor = 1;

  /// Whether no component trains: then rollout alone decides, and an actor is not asked for.
  bool evaluates() const {
    return rules == PoolRules::Evaluation || rules == PoolRules::MultiAgentEvaluation;
  }
};

/// The component that has the second half of rollout's devices.
inline constexpr std::string_view kFixedWorker = "rollout_fixed_worker";

/// Rules P1-P19: every component of every rule that is sound, in the order in which they are named;
/// all that is wrong is appended, and `errors` is brought into the order of stages.
///
/// Every entry of a text is told about at most once. Where a group is unknown or unsound the text
/// is still read, as far as it can be without knowing how many resources there are.
std::vector<ComponentPlan> resolve_components(const Inventory& inventory,
                                              const std::vector<PlacementRule>& rules,
                                              PlacementErrors& errors);

/// Rules S1-S3. The component is named "_"; without processes where something is wrong. `labels`
/// may be empty: the whole cluster; each may hold commas. Errors point at the labels, for a
/// strategy is no text.
ComponentPlan resolve_strategy(const Inventory& inventory,
                               const PackedStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors);
ComponentPlan resolve_strategy(const Inventory& inventory,
                               const FlexibleStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors);
ComponentPlan resolve_strategy(const Inventory& inventory,
                               const NodeStrategy& strategy,
                               const std::vector<PlacedText>& labels,
                               PlacementErrors& errors);

/// Rules M1 ff.: the mode that the parallel sizes and the pools select, and its processes. Pools
/// are the components actor, rollout, inference (or actor_inference), critic_inference and critic;
/// they, reward and extra engines follow the mode, all other components their text. Without
/// components where the mode cannot be told.
Plan resolve_model_parallel(const Inventory& inventory,
                            const std::vector<PlacementRule>& rules,
                            const ParallelSizes& sizes,
                            PlacementErrors& errors);

/// Whether each device of `inner` is one of `outer`'s, and `outer` has others as well. False where
/// one of them is not placed or not soundly; tells nothing.
bool lies_strictly_inside(const Inventory& inventory,
                          const std::vector<PlacementRule>& rules,
                          std::string_view inner,
                          std::string_view outer);

/// The devices that the text of `name` has, packed by `per_process`, for a component of another
/// name that the caller gives; without processes where something is wrong.
ComponentPlan resolve_packed_beside(const Inventory& inventory,
                                    const std::vector<PlacementRule>& rules,
                                    std::string_view name,
                                    std::int32_t per_process,
                                    PlacementErrors& errors);

/// The component in explicit form: a rule that resolves to exactly this plan, process ranks written
/// out. Without placement where the language cannot say it: no process, strided or shared sets of
/// devices, ranks that do not rise with the resources, nodes where the groups mean devices.
PlacementRule explicit_rule(const ComponentPlan& component, const Inventory& inventory);

}  // namespace orrery::placement
