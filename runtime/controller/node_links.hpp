// Which stream leads to which node, and what of a leader's orders has gone over it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/agent/leader_ear.hpp"
#include "core/control/state.hpp"
#include "core/record/command.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/link/link.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// The streams of one leader. Orders wait until the node has registered on its stream and holds a
/// lease; before the first order of a job goes what the job is, and before one that starts or tells
/// a membership goes who all its members are.
class NodeLinks {
 public:
  /// All outlive the links.
  NodeLinks(LinkServer& server, const State& state, LeaderEar& ear)
      : server_(server), state_(state), ear_(ear) {}

  /// The agent of `node` speaks over `link` from now on; an older stream of the node is closed.
  void attach(LinkId link, NodeId node, const Hello& hello, const Peer& peer);

  /// The node of a stream that is attached; none otherwise.
  NodeId node_of(LinkId link) const;

  /// The stream is over.
  void detach(LinkId link);

  /// The latest session with which an agent of the node has said hello; 0: none.
  std::uint64_t session_of(NodeId node) const;

  bool is_registered(NodeId node) const;

  /// The last record of which an order went to the node; 0 where none did.
  Sequence last_sent(NodeId node) const;

  /// The node has registered and holds a lease: what waits goes out, if it is still meant.
  void registered(NodeId node);

  /// The node was given up: nothing waits for it any more.
  void given_up(NodeId node);

  /// The node is a new machine: its stream is closed, so that its agent registers anew.
  void replaced(NodeId node);

  /// Sends an order of the core to every node that it is about.
  void order(const Command& command);

  /// To a node's stream; false where there is none.
  bool send(NodeId node, const ControllerMessage& message);

  /// Closes every stream.
  void close_all(const std::string& why);

  /// By NodeId, as many as the state has; nodes that never connected have a name alone.
  std::span<const NodeFacts> facts();

  void note_lost_devices(NodeId node, std::uint64_t devices);
  void note_heard(NodeId node, Instant at);

  std::uint64_t orders_sent() const { return orders_sent_; }

  std::size_t open() const { return by_link_.size(); }

 private:
  struct Node {
    std::optional<LinkId> link;
    bool was_connected = false;
    bool registered = false;
    std::uint64_t session = 0;
    Sequence last_sent;  ///< Record of the last order that went out, on whichever stream.
    std::string address;
    std::vector<std::shared_ptr<const Command>> waiting;
    std::set<JobId> known;                ///< Jobs that were told on this stream,
    std::map<JobId, Generation> members;  ///< and memberships.
  };

  NodeFacts& facts_of(NodeId node);
  Node& at(NodeId node);
  const Node* find(NodeId node) const;
  std::vector<NodeId> nodes_of(const CommandBody& body) const;
  void order_to(NodeId node, const std::shared_ptr<const Command>& command);
  void send_now(NodeId node, const Command& command);
  void tell_job(NodeId id, Node& node, JobId job, bool with_members);
  Members members_of(const JobState& job) const;

  LinkServer& server_;
  const State& state_;
  LeaderEar& ear_;
  std::vector<Node> nodes_;
  std::vector<NodeFacts> facts_;                       ///< By NodeId.
  std::unordered_map<std::uint64_t, NodeId> by_link_;  // Looked up, never iterated for decisions.
  std::uint64_t orders_sent_ = 0;
};

}  // namespace orrery::runtime
