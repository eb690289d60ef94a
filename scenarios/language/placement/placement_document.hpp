// Documents that place components on devices: RLinf's own YAML, Orrery's scenarios and jobs, and
// documents with the keys of a conformance case. See docs/placement_documents.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/spec.hpp"
#include "core/placement/inventory.hpp"
#include "core/placement/placement_error.hpp"
#include "core/placement/plan.hpp"
#include "scenarios/language/rlinf/composition.hpp"
#include "scenarios/language/rlinf/program.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

struct Scenario;

/// One thing wrong with a document.
struct PlacementFinding {
  /// A name of placement::ErrorKind, "undeclared_overlap", "infeasible" or "document".
  std::string kind;
  placement::Stage stage = placement::Stage::Config;
  placement::TextPosition at;
  bool in_yaml_text = false;  ///< `at` counts inside the document's `yaml_text`.
  std::size_t file = 0;       ///< Index into PlacementDocument::files.
  std::string message;        ///< "subject: found ..., needed ...; remedy".
};

/// Which class of RLinf reads the placements.
enum class PlacementMode : std::uint8_t {
  AsWritten,      ///< As the document says; hybrid where it does not.
  Hybrid,         ///< Each component by its text.
  ModelParallel,  ///< By text and parallel sizes, here and below.
  Evaluation,
  MultiAgent,
  MultiAgentEvaluation,
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::PlacementMode> {
  static constexpr std::array kNames{"as-written",
                                     "hybrid",
                                     "model-parallel",
                                     "evaluation",
                                     "multi-agent",
                                     "multi-agent-evaluation"};
};

}  // namespace orrery

namespace orrery::scenarios {

/// A strategy called by name, as code calls it.
struct StrategyCall {
  std::variant<placement::PackedStrategy, placement::FlexibleStrategy, placement::NodeStrategy>
      strategy;
  std::vector<placement::PlacedText> labels;  ///< Empty: the whole cluster.
  placement::TextPosition at;
};

/// Roles of one job of Orrery, whose processes may share devices only where they take turns.
struct PlacedJob {
  /// One role at one size.
  struct Role {
    std::string name;
    std::string component;  ///< Its name in the plan.
    placement::TextPosition at;
  };

  std::string name;
  std::string prefix;     ///< Of its components' names: "train/", or empty where it is alone.
  std::size_t index = 0;  ///< In the document's list of jobs.
  WorkerFamily family = WorkerFamily::Torch;
  std::int32_t backoff_limit = JobSpec{}.backoff_limit;
  placement::TextPosition at;
  std::vector<Role> roles;                      ///< Those with a placement.
  std::vector<std::vector<std::string>> turns;  ///< Roles that take turns with each other.
};

/// What a document says.
struct PlacementDocument {
  placement::Inventory inventory;
  bool has_inventory = false;  ///< The nodes are known; else nothing can be placed.
  std::vector<placement::PlacementRule> rules;
  std::optional<StrategyCall> strategy;           ///< In place of `rules`.
  std::optional<placement::ParallelSizes> sizes;  ///< Model-parallel.
  std::optional<ProgramFacts> program;            ///< Of RLinf, where it is known; else all that is
                                                  ///< placed is started.
  bool isolate_accelerators = true;
  std::vector<KeyValue> group_names;  ///< What processes call a component, where that is not its
                                      ///< name: NAME.group_name of RLinf's documents.
  std::vector<PlacedJob> jobs;
  std::shared_ptr<const Scenario> scenario;  ///< Where a job has virtual clusters.
  std::vector<std::string> files;  ///< That it is composed of, itself first, then the words of the
                                   ///< command line; empty: it is one text.
  std::vector<std::string> remarks;        ///< What a reader should know; sentences.
  std::vector<PlacementFinding> findings;  ///< Of the document's shape and of its cluster.
};

/// What a document takes from outside.
struct PlacementContext {
  std::string path;               ///< Of the document, for the files that it names.
  CompositionSources sources;     ///< Without `read` a list of defaults is passed over.
  std::optional<YamlNode> nodes;  ///< The value of `cluster.nodes`, in place of what is written.
  std::optional<RlinfProgram> program;  ///< In place of the one that the document is for.
};

/// Reads a document, composed where it has a list of defaults; opens nothing itself. Whatever is
/// wrong is in `findings`, in the order in which RLinf would find it.
PlacementDocument read_placement_document(std::string_view text,
                                          PlacementMode mode = PlacementMode::AsWritten,
                                          const PlacementContext& context = {});

/// The plan of a document, or all that is wrong with it.
struct PlacementAnswer {
  placement::Plan plan;  ///< Without components where something is wrong.
  std::vector<PlacementFinding> findings;
  std::vector<PlacementFinding> warnings;  ///< Placed all the same; probably not meant.
  std::vector<std::string> not_started;    ///< Components that are placed, and that the program
                                           ///< starts no processes of.
};

/// Resolves what was read: everything that is wrong comes back at once, stage by stage.
PlacementAnswer resolve_placement_document(const PlacementDocument& document);

}  // namespace orrery::scenarios
