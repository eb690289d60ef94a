// What can be wrong with a placement: one kind per rule, each with its place in the text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"

namespace orrery::placement {

/// When an error is found. A later stage is looked at only for what the earlier ones left sound.
enum class Stage : std::uint8_t {
  Config,   ///< The cluster section: nodes, groups, hardware.
  Parse,    ///< The placement text of one component, or the arguments of a strategy.
  Resolve,  ///< Devices are assigned to processes.
};

}  // namespace orrery::placement

namespace orrery {

template <>
struct EnumNames<placement::Stage> {
  static constexpr std::array kNames{"config", "parse", "resolve"};
};

}  // namespace orrery

namespace orrery::placement {

/// What is wrong. The order inside a stage is the order in which errors of one subject are looked
/// for: where several apply to one entry of a text, the first is told.
enum class ErrorKind : std::uint8_t {
  // config
  NodeGroupNotMapping,
  UnknownField,
  MissingField,
  HardwareTypeUnsupported,
  HardwareConfigNotMapping,
  HardwareConfigDuplicate,
  HardwareWithIgnoreHardware,
  EnvVarsNotList,
  EnvVarNotMapping,
  EnvVarNotSinglePair,
  ReservedLabel,
  NodeRankOutOfRange,
  EnvNodeRankOutsideGroup,
  EnvDuplicate,
  HardwareNodeRankOutsideGroup,
  HardwareTypeTwiceOnNode,
  NumNodesNotPositive,
  DuplicateLabel,
  // parse
  ComponentNameEmpty,
  NodeGroupNotFound,
  NodeGroupRepeated,
  PlacementMissing,
  EntryMalformed,
  RankFormat,  ///< Also of node_ranks, then in stage config.
  RangeReversed,
  ResourceOutOfRange,  ///< Of a strategy: in stage resolve but for ranks below 0.
  ResourceEmpty,
  ResourceDuplicate,
  ResourceNotAscending,
  ProcessAll,
  ProcessEmpty,
  ProcessDuplicate,
  ProcessNotContinuous,
  ProcessNotFromZero,
  NotDivisible,
  PlacementEmpty,
  ComponentMultiplePlacements,
  ActorMissing,
  RewardMissing,
  ComponentGpusNotContiguous,
  ModeAmbiguous,
  InferenceTpTooLarge,
  InferenceWithoutRecompute,
  TpNotDivisible,
  AutoOrder,
  ProcessRanksUnsupported,
  ActorRewardDiffer,
  RolloutOutsideActor,
  ExclusiveOverlap,
  EngineNotConfigured,
  ComponentMissing,  ///< One that the document's entry program starts.
  SizeOutOfRange,
  ProgramRefuses,
  // resolve
  ProcessSpansNodes,  ///< Of node placements: in stage parse.
  ProcessResourceDuplicate,
  ProcessMixedHardware,
  NodeGroupsOverlap,
  NodeOutOfRange,
  NoHardware,
};

}  // namespace orrery::placement

namespace orrery {

template <>
struct EnumNames<placement::ErrorKind> {
  static constexpr std::array kNames{
      "node_group_not_mapping",
      "unknown_field",
      "missing_field",
      "hardware_type_unsupported",
      "hardware_config_not_mapping",
      "hardware_config_duplicate",
      "hardware_with_ignore_hardware",
      "env_vars_not_list",
      "env_var_not_mapping",
      "env_var_not_single_pair",
      "reserved_label",
      "node_rank_out_of_range",
      "env_node_rank_outside_group",
      "env_duplicate",
      "hardware_node_rank_outside_group",
      "hardware_type_twice_on_node",
      "num_nodes_not_positive",
      "duplicate_label",
      "component_name_empty",
      "node_group_not_found",
      "node_group_repeated",
      "placement_missing",
      "entry_malformed",
      "rank_format",
      "range_reversed",
      "resource_out_of_range",
      "resource_empty",
      "resource_duplicate",
      "resource_not_ascending",
      "process_all",
      "process_empty",
      "process_duplicate",
      "process_not_continuous",
      "process_not_from_zero",
      "not_divisible",
      "placement_empty",
      "component_multiple_placements",
      "actor_missing",
      "reward_missing",
      "component_gpus_not_contiguous",
      "mode_ambiguous",
      "inference_tp_too_large",
      "inference_without_recompute",
      "tp_not_divisible",
      "auto_order",
      "process_ranks_unsupported",
      "actor_reward_differ",
      "rollout_outside_actor",
      "exclusive_overlap",
      "engine_not_configured",
      "component_missing",
      "size_out_of_range",
      "program_refuses",
      "process_spans_nodes",
      "process_resource_duplicate",
      "process_mixed_hardware",
      "node_groups_overlap",
      "node_out_of_range",
      "no_hardware",
  };
};

}  // namespace orrery

namespace orrery::placement {

/// A place in a document, both from 1; line 0 where it is not known. A column counts bytes.
struct TextPosition {
  int line = 0;
  int column = 0;

  /// `bytes` further on the same line.
  TextPosition plus(std::size_t bytes) const {
    return {line, line == 0 ? 0 : column + static_cast<int>(bytes)};
  }

  friend auto operator<=>(const TextPosition&, const TextPosition&) = default;
};

/// A piece of text together with where it stands.
struct PlacedText {
  std::string text;
  TextPosition at;

  friend bool operator==(const PlacedText&, const PlacedText&) = default;
};

/// One thing wrong.
struct PlacementError {
  ErrorKind kind = ErrorKind::RankFormat;
  Stage stage = Stage::Parse;
  TextPosition at;
  std::string subject;  ///< "component actor", "node group a800", "strategy", ...
  std::string found;    ///< "process ranks 3-4".
  std::string needed;   ///< "process ranks that begin at 2".
  std::string remedy;   ///< "write '2-3:2-3'".

  /// "subject: found ..., needed ...; remedy". Without the place: the caller that prints knows the
  /// file.
  std::string message() const;
};

/// All that is wrong, by stage, inside a stage in the order of detection.
using PlacementErrors = std::vector<PlacementError>;

/// Brings errors that several readers appended into the order of stages; the order inside a stage
/// is kept.
void sort_by_stage(PlacementErrors& errors);

}  // namespace orrery::placement
