// Nodes are checked in pairs before work starts on them: requests to the nodes and their results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/nodecheck/node_check.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Runs one check at a time, of all nodes that wait for one. Used on the core thread.
class NodeChecks {
 public:
  /// What the checks need from the term.
  struct Port {
    std::function<bool(NodeId, const CheckRequest&)> send;  ///< False: out of reach.
    std::function<std::string(NodeId)> address;
    /// The node may be used, or must not; `why` is for people and may be empty.
    std::function<void(NodeId, bool usable, const std::string& why)> judged;
  };

  explicit NodeChecks(Port port) : port_(std::move(port)) {}

  /// The node is to be checked; nothing where it is already waiting.
  void want(NodeId node, Instant now);

  /// Whether the node must not be used yet.
  bool holds_back(NodeId node) const { return held_.contains(node); }

  void answered(NodeId node, const CheckResult& result, Instant now);

  /// The node is out of reach.
  void lost(NodeId node, Instant now);

  void time_reached(Instant now);
  Instant next_deadline() const;

 private:
  struct Held {
    bool checking = false;
    std::int32_t tries = 0;
    Instant due;  ///< When it may be checked.
  };

  void begin(Instant now);
  void order_round(Instant now);
  void finish(Instant now);
  void take(NodeId node, std::int32_t round, NodeMeasure measure, Instant now);

  Port port_;
  std::map<NodeId, Held> held_;
  std::optional<NodeCheck> check_;
  std::vector<NodeId> nodes_;  ///< Of the check under way.
  std::map<NodeId, std::string> errors_;
  Instant round_until_ = Instant::never();
  std::uint64_t checks_ = 0;
};

}  // namespace orrery::runtime
