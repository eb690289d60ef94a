// Cables between the controller and each node, which can be cut: network namespaces of this run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "scenarios/language/spec/faults.hpp"

namespace orrery::cli {

/// The network of one run. This process, and with it the controller, has a namespace of its own
/// with the address `kControllerHost`; each node has another, joined to it by a pair of virtual
/// interfaces. Nothing else is reachable from any of them. All goes with this object and its
/// process.
class NodeLinks {
 public:
  static constexpr const char* kControllerHost = "10.99.0.1";

  /// Moves the calling process into a namespace of its own, for good; threads that run already stay
  /// where they are. Errors: Unavailable, without root, `ip` or the kernel's virtual interfaces.
  static Result<std::unique_ptr<NodeLinks>> make(std::uint32_t nodes);

  NodeLinks(const NodeLinks&) = delete;
  NodeLinks& operator=(const NodeLinks&) = delete;
  ~NodeLinks();

  /// "10.99.1.7": the address of a node.
  static std::string host_of(NodeId node);

  /// Program and arguments behind which a command runs on the node's side.
  std::vector<std::string> inside(NodeId node) const;

  /// Nothing comes through any more, in that direction; cuts of one direction add up. Errors: `ip`
  /// failed.
  Status cut(NodeId node, scenarios::LinkDirection direction);

  /// Takes one such cut back.
  Status mend(NodeId node, scenarios::LinkDirection direction);

 private:
  struct Node {
    pid_t holder = -1;  ///< A process that does nothing but keep the node's namespace.
    int cuts_to = 0;    ///< Of the direction to the node,
    int cuts_from = 0;  ///< and from it.
  };

  NodeLinks() = default;

  Status join(NodeId node);
  Status lose_to(NodeId node, bool lost) const;
  Status lose_from(NodeId node, bool lost) const;
  Status change(NodeId node, scenarios::LinkDirection direction, int by);

  std::vector<Node> nodes_;
};

/// Why this process cannot have such links, with what to do; empty: it can.
std::string why_no_links();

}  // namespace orrery::cli
