// Which stream leads to which node, and what its agent has said of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/leader/leader.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/link/link.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// The streams of one leader: carries what it says. When to say what is the leader's business.
class AgentSessions final : public NodeStreams {
 public:
  /// Both outlive the links.
  AgentSessions(LinkServer& server, const State& state, Epoch epoch)
      : server_(server), state_(state), epoch_(epoch) {}

  /// The agent of `node` speaks over `link` from now on; an older stream of the node is closed.
  void attach(LinkId link, NodeId node, const Hello& hello, const Peer& peer);

  /// The node of a stream that is attached; none otherwise.
  NodeId node_of(LinkId link) const;

  /// The stream is over.
  void detach(LinkId link);

  /// Who said hello last for a node.
  struct Last {
    std::uint64_t session = 0;  ///< 0: nobody has, in this term.
    std::uint64_t folder_id = 0;
    bool is_connected = false;
  };

  Last last_of(NodeId node) const;

  /// The last record of which an order went to the node; 0 where none did.
  Sequence last_sent(NodeId node) const;

  /// To a node's stream; false where there is none.
  bool send(NodeId node, const ControllerMessage& message);

  /// Messages to agents so far.
  std::uint64_t sent() const { return sent_; }

  /// Closes every stream.
  void close_all(const std::string& why);

  /// By NodeId, as many as the state has; nodes that never connected have a name alone.
  std::span<const NodeFacts> facts();

  /// The agent's word: which devices do not work, and whether the node takes no more work.
  void note_unusable(NodeId node, std::uint64_t devices, bool held);
  void note_heard(NodeId node, Instant at);

  std::size_t open() const { return by_link_.size(); }

  // --- NodeStreams ---

  void renew(NodeId node, Instant heard_of, bool registers) override;
  void announce(NodeId node) override;
  void tell_job(NodeId node, const JobState& job) override;
  void tell_members(NodeId node, const JobState& job) override;
  void order(NodeId node, const std::shared_ptr<const Command>& command) override;

  /// Refuses the agent, which may try again, and ends its stream.
  void close(NodeId node, std::string_view why) override;

 private:
  struct Node {
    std::optional<LinkId> link;
    std::uint64_t session = 0;
    std::uint64_t folder_id = 0;
    Sequence last_sent;  ///< Record of the last order that went out, on whichever stream.
    std::string address;
  };

  NodeFacts& facts_of(NodeId node);
  Node& at(NodeId node);
  const Node* find(NodeId node) const;
  Members members_of(const JobState& job) const;

  LinkServer& server_;
  std::uint64_t sent_ = 0;
  const State& state_;
  Epoch epoch_;
  std::vector<Node> nodes_;
  std::vector<NodeFacts> facts_;                       ///< By NodeId.
  std::unordered_map<std::uint64_t, NodeId> by_link_;  // Looked up, never iterated for decisions.
};

}  // namespace orrery::runtime
