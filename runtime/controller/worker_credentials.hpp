// By which tokens the workers of a cluster are known to its HTTP server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/agent/agent.hpp"
#include "core/state/state.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Tokens that agents have told of their own workers: soft state of one leader, told again whenever
/// an agent registers. A token is good as long as its worker lives by the state.
class WorkerCredentials final : public TokenOwners {
 public:
  /// What the agent of `node` says; tokens of workers that are not its own are ignored.
  void learn(NodeId node, const WorkerTokens& told, const State& state);

  std::optional<WorkerName> owner(const std::string& token, const State& state) const override;

  const CallEndpoint* endpoint(const WorkerName& worker) const override;

 private:
  void forget_ended(const State& state);

  std::unordered_map<std::string, WorkerName> owners_;  // Looked up, never iterated for decisions.
  std::map<WorkerName, CallEndpoint> endpoints_;
  std::size_t forget_at_ = 1024;  ///< When as many are known.
};

}  // namespace orrery::runtime
