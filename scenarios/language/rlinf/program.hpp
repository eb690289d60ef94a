// Which of RLinf's entry programs a document is for. The program decides by which class components
// are placed, which of them it starts, and what must fit (docs/placement_documents.md, Programs).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/enum_names.hpp"
#include "core/placement/placement_error.hpp"

namespace orrery::scenarios {

enum class RlinfProgram : std::uint8_t {
  Reasoning,
  Agent,
  Rstar2,
  Coding,
  AgentLightning,
  AgentEvaluation,
  MultiAgent,
  MultiAgentEvaluation,
  Embodied,
  EmbodiedEvaluation,
  FineTuning,
  Offline,
  Collection,
};

/// A whole number of a document, and where it is written.
struct PlacedNumber {
  std::int64_t value = 0;
  placement::TextPosition at;
};

/// A truth value or a word of a document, and where it is written.
struct PlacedWord {
  std::string text;
  placement::TextPosition at;
};

/// Simulated worlds of one kind; nothing: not written.
struct WorldCounts {
  std::optional<PlacedNumber> total;
  std::optional<PlacedNumber> group;
};

/// Servers that a program starts beside its workers.
struct ServerWords {
  bool has_server = false;
  bool has_router = false;
  std::int32_t devices = 1;  ///< Of one server.
  std::string server_name;   ///< What their processes call them; empty: as the component.
  std::string router_name;
};

/// The program, and what it reads of the document beside `cluster`.
struct ProgramFacts {
  RlinfProgram program = RlinfProgram::Reasoning;
  std::string reason;  ///< "runner.task_type is reasoning and agentloop is there".

  bool use_critic_model = false;
  bool use_reward_model = false;
  bool is_standalone_reward = false;
  bool serves_reward = false;  ///< The reward model is asked by HTTP, and nobody serves it yet.
  bool only_evaluates = false;
  bool evaluates = false;  ///< Before, after or between steps.
  bool recompute_logprobs = true;
  bool has_agent_loop = false;
  bool use_local_judge = false;
  bool tools_are_online = false;
  ServerWords servers;  ///< Of rollout in an embodied evaluation, else of the reward model.

  WorldCounts train_worlds;
  WorldCounts evaluation_worlds;
  std::optional<PlacedNumber> stages;
  std::optional<PlacedNumber> global_batch;
  std::optional<PlacedNumber> micro_batch;
  std::optional<PlacedWord> training_backend;
  std::optional<PlacedWord> rollout_backend;
  std::optional<PlacedWord> recompute;       ///< algorithm.recompute_logprobs as written.
  std::optional<PlacedWord> fixed_worker;    ///< rollout.use_fixed_worker, where it is on.
  std::optional<PlacedWord> auto_scheduler;  ///< cluster.auto_scheduler, where it is on.
  std::optional<PlacedWord> local_judge;     ///< agentloop.use_local_judge, where it is on.
  std::optional<PlacedWord> decoupled;       ///< runner.enable_decoupled_mode, where it is on.
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::RlinfProgram> {
  static constexpr std::array kNames{"reasoning",
                                     "agent",
                                     "rstar2",
                                     "coding",
                                     "agentlightning",
                                     "agent-eval",
                                     "multi-agent",
                                     "multi-agent-eval",
                                     "embodied",
                                     "embodied-eval",
                                     "sft",
                                     "offline",
                                     "collect"};
};

}  // namespace orrery
