#include "runtime/controller/agent_sessions.hpp"

#include <algorithm>
#include <set>

namespace orrery::runtime {

AgentSessions::Node& AgentSessions::at(NodeId node) {
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  return nodes_[node.index()];
}

const AgentSessions::Node* AgentSessions::find(NodeId node) const {
  return node.index() < nodes_.size() ? &nodes_[node.index()] : nullptr;
}

void AgentSessions::attach(LinkId link, NodeId id, const Hello& hello, const Peer& peer) {
  Node& node = at(id);
  if (node.link) {
    by_link_.erase(node.link->value);
    server_.close(*node.link, "the node has a newer stream");
  }
  node.link = link;
  node.session = hello.session;
  node.folder_id = hello.folder_id;
  node.address = hello.address;
  by_link_[link.value] = id;
  NodeFacts& facts = facts_of(id);
  facts.address = hello.address;
  facts.peer = peer.address;
  facts.program = hello.program;
  facts.inventory = hello.inventory;
  facts.connected = true;
}

NodeId AgentSessions::node_of(LinkId link) const {
  const auto found = by_link_.find(link.value);
  return found == by_link_.end() ? NodeId::none() : found->second;
}

void AgentSessions::detach(LinkId link) {
  const auto found = by_link_.find(link.value);
  if (found == by_link_.end()) return;
  Node& node = at(found->second);
  node.link.reset();
  facts_of(found->second).connected = false;
  by_link_.erase(found);
}

AgentSessions::Last AgentSessions::last_of(NodeId id) const {
  const Node* node = find(id);
  if (node == nullptr) return {};
  return {node->session, node->folder_id, node->link.has_value()};
}

void AgentSessions::renew(NodeId node, Instant heard_of, bool) {
  send(node, Renewal{epoch_, heard_of});
}

Sequence AgentSessions::last_sent(NodeId node) const {
  const Node* found = find(node);
  return found == nullptr ? Sequence{} : found->last_sent;
}

void AgentSessions::announce(NodeId node) { send(node, Announcement{epoch_}); }

void AgentSessions::tell_job(NodeId node, const JobState& job) {
  send(node, JobKnown{job.row.id, job.spec});
}

void AgentSessions::tell_members(NodeId node, const JobState& job) { send(node, members_of(job)); }

void AgentSessions::order(NodeId node, const std::shared_ptr<const Command>& command) {
  const bool sent =
      send(node,
           Order{command->sequence, command->index, command->epoch, part_for(node, command->body)});
  if (sent) at(node).last_sent = std::max(at(node).last_sent, command->sequence);
}

void AgentSessions::close(NodeId id, std::string_view why) {
  const Node* node = find(id);
  if (node == nullptr || !node->link) return;
  const LinkId link = *node->link;
  // What its agent says on it from now on is of no use.
  detach(link);
  server_.send(link, Refusal{std::string(why), true, {}});
  ++sent_;
  server_.close(link, std::string(why));
}

Members AgentSessions::members_of(const JobState& job) const {
  Members out{job.row.id, job.row.generation, {}, {}, job.row.restarts};
  std::set<NodeId> nodes;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    WorkerStart& member = out.workers.emplace_back();
    member.rank = Rank{rank};
    member.role = worker.role;
    member.local_rank = worker.local_rank;
    member.node = worker.node;
    member.incarnation = worker.incarnation;
    member.devices = worker.devices;
    member.share = worker.share;
    member.birth_rank = worker.birth_rank;
    member.hardware = worker.hardware;
    member.first_port = worker.first_port;
    member.beside = worker.beside;
    if (!worker.node.is_none()) nodes.insert(worker.node);
  }
  for (const NodeId node : nodes) {
    const Node* known = find(node);
    out.nodes.push_back(
        {node, state_.nodes[node.index()].name, known == nullptr ? std::string() : known->address});
  }
  return out;
}

bool AgentSessions::send(NodeId id, const ControllerMessage& message) {
  const Node* node = find(id);
  if (node == nullptr || !node->link) return false;
  server_.send(*node->link, message);
  ++sent_;
  return true;
}

void AgentSessions::close_all(const std::string& why) {
  for (Node& node : nodes_) {
    if (!node.link) continue;
    server_.close(*node.link, why);
    node.link.reset();
  }
  for (NodeFacts& facts : facts_) facts.connected = false;
  by_link_.clear();
}

NodeFacts& AgentSessions::facts_of(NodeId node) {
  while (facts_.size() <= node.index()) {
    NodeFacts& fresh = facts_.emplace_back();
    if (facts_.size() <= state_.nodes.size()) fresh.name = state_.nodes[facts_.size() - 1].name;
  }
  return facts_[node.index()];
}

std::span<const NodeFacts> AgentSessions::facts() {
  if (!state_.nodes.empty())
    (void)facts_of(NodeId{static_cast<std::uint32_t>(state_.nodes.size() - 1)});
  return {facts_.data(), state_.nodes.size()};
}

void AgentSessions::note_unusable(NodeId node, std::uint64_t devices, bool held) {
  facts_of(node).lost_devices = devices;
  facts_of(node).held = held;
}

void AgentSessions::note_heard(NodeId node, Instant at) { facts_of(node).last_heard = at; }

}  // namespace orrery::runtime
