#include "runtime/controller/node_links.hpp"

#include <algorithm>
#include <utility>

namespace orrery::runtime {
namespace {

/// The part of an order that is about one node.
CommandBody part_for(NodeId node, const CommandBody& body) {
  CommandBody part = body;
  if (auto* start = std::get_if<StartWorkers>(&part))
    std::erase_if(start->workers, [&](const WorkerStart& w) { return w.node != node; });
  if (auto* stop = std::get_if<StopWorkers>(&part))
    std::erase_if(stop->workers, [&](const WorkerStop& w) { return w.node != node; });
  if (auto* update = std::get_if<UpdateMembership>(&part))
    std::erase_if(update->members, [&](const WorkerStart& w) { return w.node != node; });
  return part;
}

/// The job whose members an order is about; none for other orders.
JobId job_with_members(const CommandBody& body) {
  if (const auto* start = std::get_if<StartWorkers>(&body)) return start->job;
  if (const auto* update = std::get_if<UpdateMembership>(&body)) return update->job;
  return JobId::none();
}

}  // namespace

NodeLinks::Node& NodeLinks::at(NodeId node) {
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  return nodes_[node.index()];
}

const NodeLinks::Node* NodeLinks::find(NodeId node) const {
  return node.index() < nodes_.size() ? &nodes_[node.index()] : nullptr;
}

void NodeLinks::attach(LinkId link, NodeId id, const Hello& hello, const Peer& peer) {
  Node& node = at(id);
  if (node.link) {
    by_link_.erase(node.link->value);
    server_.close(*node.link, "the node has a newer stream");
  }
  if (std::exchange(node.was_connected, true)) {
    std::vector<const CommandBody*> waiting;
    for (const auto& order : node.waiting) waiting.push_back(&order->body);
    ear_.connected(id, waiting);
  }
  node.link = link;
  node.registered = false;
  node.session = hello.session;
  node.address = hello.address;
  node.known.clear();
  node.members.clear();
  by_link_[link.value] = id;
  NodeFacts& facts = facts_of(id);
  facts.address = hello.address;
  facts.peer = peer.address;
  facts.program = hello.program;
  facts.inventory = hello.inventory;
  facts.connected = true;
}

NodeId NodeLinks::node_of(LinkId link) const {
  const auto found = by_link_.find(link.value);
  return found == by_link_.end() ? NodeId::none() : found->second;
}

void NodeLinks::detach(LinkId link) {
  const auto found = by_link_.find(link.value);
  if (found == by_link_.end()) return;
  Node& node = at(found->second);
  node.link.reset();
  node.registered = false;
  facts_of(found->second).connected = false;
  by_link_.erase(found);
}

std::uint64_t NodeLinks::session_of(NodeId node) const {
  const Node* found = find(node);
  return found == nullptr ? 0 : found->session;
}

bool NodeLinks::is_registered(NodeId node) const {
  const Node* found = find(node);
  return found != nullptr && found->registered;
}

Sequence NodeLinks::last_sent(NodeId node) const {
  const Node* found = find(node);
  return found == nullptr ? Sequence{} : found->last_sent;
}

void NodeLinks::registered(NodeId id) {
  Node& node = at(id);
  node.registered = true;
  for (const std::shared_ptr<const Command>& order : std::exchange(node.waiting, {})) {
    const auto* start = std::get_if<StartWorkers>(&order->body);
    const bool given_up =
        start != nullptr &&
        std::none_of(start->workers.begin(), start->workers.end(), [&](const WorkerStart& w) {
          return w.node == id && ear_.is_wanted(start->job, w);
        });
    if (!given_up) send_now(id, *order);
  }
}

void NodeLinks::replaced(NodeId id) {
  given_up(id);
  Node& node = at(id);
  if (!node.link) return;
  const LinkId link = *node.link;
  detach(link);
  server_.close(link, "the node was replaced: its agent is to register anew");
}

void NodeLinks::given_up(NodeId id) {
  Node& node = at(id);
  node.waiting.clear();
  node.registered = false;
}

std::vector<NodeId> NodeLinks::nodes_of(const CommandBody& body) const {
  std::vector<NodeId> nodes;
  if (const auto* start = std::get_if<StartWorkers>(&body)) {
    for (const WorkerStart& worker : start->workers) nodes.push_back(worker.node);
  } else if (const auto* stop = std::get_if<StopWorkers>(&body)) {
    for (const WorkerStop& worker : stop->workers) nodes.push_back(worker.node);
  } else if (const auto* update = std::get_if<UpdateMembership>(&body)) {
    for (const WorkerStart& member : update->members) nodes.push_back(member.node);
  } else if (const auto* tell = std::get_if<TellSubMaster>(&body)) {
    nodes.push_back(tell->node);
  } else if (const auto* clean = std::get_if<CleanJob>(&body)) {
    nodes = ear_.nodes_of(clean->job);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

void NodeLinks::order(const Command& command) {
  auto order = std::make_shared<Command>(command);
  // An order to start that waited for the store may have been overtaken by what came after it.
  if (auto* start = std::get_if<StartWorkers>(&order->body)) {
    std::erase_if(start->workers,
                  [&](const WorkerStart& w) { return !ear_.is_wanted(start->job, w); });
    if (start->workers.empty()) return;
  }
  ear_.ordered(order->body);
  for (const NodeId node : nodes_of(order->body)) order_to(node, order);
}

void NodeLinks::order_to(NodeId id, const std::shared_ptr<const Command>& command) {
  Node& node = at(id);
  if (node.link && node.registered) return send_now(id, *command);
  node.waiting.push_back(command);
}

void NodeLinks::send_now(NodeId id, const Command& command) {
  Node& node = at(id);
  if (!node.link) return;
  const JobId job = job_with_members(command.body);
  if (!job.is_none()) tell_job(id, node, job, true);
  if (const auto* tell = std::get_if<TellSubMaster>(&command.body))
    tell_job(id, node, tell->job, false);
  server_.send(*node.link,
               Order{command.sequence, command.index, command.epoch, part_for(id, command.body)});
  ++orders_sent_;
  node.last_sent = std::max(node.last_sent, command.sequence);
  if (const auto* clean = std::get_if<CleanJob>(&command.body)) {
    node.known.erase(clean->job);
    node.members.erase(clean->job);
  }
}

void NodeLinks::tell_job(NodeId id, Node& node, JobId job, bool with_members) {
  const JobState* state = state_.find(job);
  if (state == nullptr) return;
  if (node.known.insert(job).second) server_.send(*node.link, JobKnown{job, state->spec});
  if (!with_members) return;
  Generation& told = node.members[job];
  const Generation now = state->row.generation;
  if (told == now) return;
  told = now;
  server_.send(*at(id).link, members_of(*state));
}

Members NodeLinks::members_of(const JobState& job) const {
  Members out{job.row.id, job.row.generation, {}, {}};
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
    if (!worker.node.is_none()) nodes.insert(worker.node);
  }
  for (const NodeId node : nodes) {
    const Node* known = find(node);
    out.nodes.push_back(
        {node, state_.nodes[node.index()].name, known == nullptr ? std::string() : known->address});
  }
  return out;
}

bool NodeLinks::send(NodeId id, const ControllerMessage& message) {
  const Node* node = find(id);
  if (node == nullptr || !node->link) return false;
  server_.send(*node->link, message);
  return true;
}

void NodeLinks::close_all(const std::string& why) {
  for (Node& node : nodes_) {
    if (!node.link) continue;
    server_.close(*node.link, why);
    node.link.reset();
    node.registered = false;
  }
  for (NodeFacts& facts : facts_) facts.connected = false;
  by_link_.clear();
}

NodeFacts& NodeLinks::facts_of(NodeId node) {
  while (facts_.size() <= node.index()) {
    NodeFacts& fresh = facts_.emplace_back();
    if (facts_.size() <= state_.nodes.size()) fresh.name = state_.nodes[facts_.size() - 1].name;
  }
  return facts_[node.index()];
}

std::span<const NodeFacts> NodeLinks::facts() {
  if (!state_.nodes.empty())
    (void)facts_of(NodeId{static_cast<std::uint32_t>(state_.nodes.size() - 1)});
  return {facts_.data(), state_.nodes.size()};
}

void NodeLinks::note_lost_devices(NodeId node, std::uint64_t devices) {
  facts_of(node).lost_devices = devices;
}

void NodeLinks::note_heard(NodeId node, Instant at) { facts_of(node).last_heard = at; }

}  // namespace orrery::runtime
