#include "core/leader/leader.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/leader/own_reports.hpp"
#include "core/record/codec.hpp"

namespace orrery {

namespace {

template <class Worker>
void keep_those_on(NodeId node, std::vector<Worker>& workers) {
  std::erase_if(workers, [node](const Worker& worker) { return worker.node != node; });
}

template <class Worker>
std::vector<NodeId> nodes_of(const std::vector<Worker>& workers) {
  std::vector<NodeId> nodes;
  for (const Worker& worker : workers) nodes.push_back(worker.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// How an order travels. Each kind of order has a function in each of these three, so that a new one
// does not compile before they are written.

// Leaves one node's part of an order.
struct KeepPart {
  NodeId node;

  void operator()(StartWorkers& order) const { keep_those_on(node, order.workers); }

  void operator()(StopWorkers& order) const { keep_those_on(node, order.workers); }

  void operator()(UpdateMembership& order) const { keep_those_on(node, order.members); }

  void operator()(CleanJob&) const {}

  void operator()(AnswerRequest&) const {}

  void operator()(TellSubMaster&) const {}

  void operator()(RelaunchNodes&) const {}
};

// The nodes that an order goes to, ascending.
struct NodesOf {
  const LeaderSession& session;

  std::vector<NodeId> operator()(const StartWorkers& order) const {
    return nodes_of(order.workers);
  }

  std::vector<NodeId> operator()(const StopWorkers& order) const { return nodes_of(order.workers); }

  std::vector<NodeId> operator()(const UpdateMembership& order) const {
    return nodes_of(order.members);
  }

  std::vector<NodeId> operator()(const CleanJob& order) const {
    return session.nodes_of(order.job);
  }

  std::vector<NodeId> operator()(const AnswerRequest&) const { return {}; }

  std::vector<NodeId> operator()(const TellSubMaster& order) const { return {order.node}; }

  std::vector<NodeId> operator()(const RelaunchNodes&) const { return {}; }
};

// What a node must have been told before an order.
struct Needs {
  JobId job;             ///< What it is; none: nothing.
  bool members = false;  ///< And who its members are.
};

struct NeedsOf {
  Needs operator()(const StartWorkers& order) const { return {order.job, true}; }

  Needs operator()(const StopWorkers&) const { return {}; }

  Needs operator()(const UpdateMembership& order) const { return {order.job, true}; }

  Needs operator()(const CleanJob&) const { return {}; }

  Needs operator()(const AnswerRequest&) const { return {}; }

  Needs operator()(const TellSubMaster& order) const { return {order.job, false}; }

  Needs operator()(const RelaunchNodes&) const { return {}; }
};

}  // namespace

CommandBody part_for(NodeId node, const CommandBody& body) {
  CommandBody part = body;
  std::visit(KeepPart{node}, part);
  return part;
}

Leader::Leader(Epoch epoch,
               const State& state,
               const Settings& settings,
               std::uint32_t nodes,
               Instant now,
               Duration journal_ahead,
               NodeStreams& streams)
    : state_(state),
      streams_(streams),
      session_(epoch, state, settings, nodes, now, journal_ahead),
      nodes_(nodes) {}

void Leader::establish(Instant now) {
  established_ = true;
  session_.establish(now);
}

Leader::Node& Leader::at(NodeId node) {
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  return nodes_[node.index()];
}

// --- streams ---

void Leader::connected(NodeId id) {
  Node& node = at(id);
  if (std::exchange(node.was_connected, true)) {
    std::vector<const CommandBody*> waiting;
    for (const auto& order : node.waiting) waiting.push_back(&order->body);
    session_.connected(id, waiting);
  }
  node.open = true;
  node.registered = false;
  node.told.clear();
}

void Leader::disconnected(NodeId id) {
  Node& node = at(id);
  node.open = false;
  node.registered = false;
  node.told.clear();
}

// --- what agents say ---

HeartbeatVerdict Leader::beat(NodeId from, HeardBeat heard, bool may_renew, Instant now) {
  if (!is_own(from, heard.beat.node)) return HeartbeatVerdict::UnknownNode;
  std::erase_if(heard.measured,
                [&](const ProfilingChanged& each) { return !is_own(state_, from, each); });
  const HeartbeatVerdict verdict = session_.heard(heard, now);
  // A leader whose epoch is not safe yet grants nothing.
  if (!established_) return verdict;
  switch (verdict) {
    case HeartbeatVerdict::Renewed:
      // The next leader may count on the end of leases that were not renewed any more.
      if (!may_renew) break;
      streams_.renew(from, heard.beat.sent_at, heard.beat.registers);
      // Orders come after the lease that they need.
      if (heard.beat.registers && is_open(from) && !at(from).registered) registered(from);
      break;
    case HeartbeatVerdict::StaleEpoch:
      streams_.announce(from);
      break;
    case HeartbeatVerdict::NotRegistered:
      close(from, "the node must register first; connect again");
      break;
    case HeartbeatVerdict::UnknownNode:
    case HeartbeatVerdict::StaleSession:
    case HeartbeatVerdict::StaleNumber:
      break;
  }
  return verdict;
}

void Leader::profiled(NodeId from, const ProfilingChanged& measured, Instant now) {
  if (is_own(state_, from, measured)) session_.profiled(measured, now);
}

void Leader::reported(NodeId from,
                      const std::vector<WorkersChanged>& changes,
                      Instant sent_at,
                      Instant now) {
  std::vector<WorkersChanged> own;
  own.reserve(changes.size());
  for (const WorkersChanged& change : changes) take_own(state_, from, change, own);
  session_.reported(from, own, sent_at, now);
}

bool Leader::said(NodeId from, EventBody fact, Instant occurred_at, Instant now) {
  Origin origin = Origin::External;
  if (const auto* lost = std::get_if<DevicesLost>(&fact)) {
    if (!is_own(from, lost->node)) return false;
  } else if (const auto* said = std::get_if<SubMasterSaid>(&fact)) {
    if (!is_own(state_, from, *said)) return false;
    origin = Origin::Reaction;
  } else if (const auto* explained = std::get_if<FailureExplained>(&fact)) {
    if (!is_own(state_, from, *explained)) return false;
    origin = Origin::Reaction;
  } else if (const auto* progress = std::get_if<ProgressReported>(&fact)) {
    if (!is_own(state_, from, *progress, session_.asked(progress->job))) return false;
  } else {
    reached(Mark::LeaderRejectedReport);
    return false;
  }
  session_.told(origin, std::move(fact), occurred_at, now);
  return true;
}

void Leader::lacks(
    NodeId from, std::uint64_t devices, bool held, Instant occurred_at, Instant now) {
  session_.told(Origin::External, lack_of(from, devices, held), occurred_at, now);
}

void Leader::leaving(NodeId from, Instant leaves_at, Instant occurred_at, Instant now) {
  session_.will_leave(from, leaves_at, occurred_at, now);
}

// --- what others say ---

void Leader::told(Origin origin, EventBody body, Instant occurred_at, Instant now) {
  std::vector<NodeId> replaced;
  if (const auto* answer = std::get_if<NodesRelaunched>(&body)) replaced = answer->replaced;
  session_.told(origin, std::move(body), occurred_at, now);
  // What runs there under the old name is not asked for any more: the list of the new registration
  // tells, and it is ended.
  for (const NodeId node : replaced) {
    give_up(node);
    close(node, "the node was replaced: its agent is to register anew");
  }
}

// --- orders ---

void Leader::order(const Command& command) {
  std::shared_ptr<const Command> order;
  // An order to start that waited for the store may have been overtaken by what came after it.
  if (const auto* start = std::get_if<StartWorkers>(&command.body)) {
    const JobState* job = state_.find(start->job);
    if (job != nullptr && !is_final(job->row.phase))
      for (const WorkerStart& worker : start->workers)
        session_.issued(start->job, worker.incarnation);
    const auto is_given_up = [&](const WorkerStart& w) {
      return !session_.is_wanted(start->job, w);
    };
    if (std::any_of(start->workers.begin(), start->workers.end(), is_given_up)) {
      reached(Mark::LeaderOvertakenStart);
      Command rest = command;
      std::erase_if(std::get<StartWorkers>(rest.body).workers, is_given_up);
      if (std::get<StartWorkers>(rest.body).workers.empty()) return;
      order = std::make_shared<const Command>(std::move(rest));
    }
  }
  if (order == nullptr) order = std::make_shared<const Command>(command);
  const std::vector<NodeId> nodes = std::visit(NodesOf{session_}, order->body);
  session_.ordered(order->body);
  for (const NodeId node : nodes) order_to(node, order);
}

void Leader::withheld(JobId id, Incarnation incarnation) {
  const JobState* job = state_.find(id);
  if (job != nullptr && !is_final(job->row.phase)) session_.issued(id, incarnation);
}

void Leader::order_to(NodeId id, const std::shared_ptr<const Command>& command) {
  Node& node = at(id);
  if (node.open && node.registered) return send(id, command);
  reached(Mark::LeaderHeldOrder);
  node.waiting.push_back(command);
}

void Leader::send(NodeId id, const std::shared_ptr<const Command>& command) {
  const Needs needs = std::visit(NeedsOf{}, command->body);
  if (!needs.job.is_none()) tell_job(id, needs.job, needs.members);
  // Saying that much may have broken the stream.
  if (!is_open(id)) return at(id).waiting.push_back(command);
  streams_.order(id, command);
  ++orders_sent_;
  if (const auto* clean = std::get_if<CleanJob>(&command->body)) at(id).told.erase(clean->job);
}

void Leader::tell_job(NodeId id, JobId job_id, bool with_members) {
  const JobState* job = state_.find(job_id);
  // Nothing is told of a job after the order to clean it up, which would be the last.
  if (job == nullptr) return;
  const auto [told, is_new] = at(id).told.emplace(job_id, Generation{});
  const bool with_these = with_members && told->second != job->row.generation;
  if (with_these) told->second = job->row.generation;
  if (is_new) streams_.tell_job(id, *job);
  if (with_these && is_open(id)) streams_.tell_members(id, *job);
}

// The node has registered and holds a lease: what waits goes out, if it is still meant.
void Leader::registered(NodeId id) {
  at(id).registered = true;
  for (std::shared_ptr<const Command>& waiting : std::exchange(at(id).waiting, {}))
    if (const auto order = still_meant(id, std::move(waiting))) order_to(id, order);
}

// The order without the starts on this node that were given up meanwhile; null where none is left.
std::shared_ptr<const Command> Leader::still_meant(NodeId id,
                                                   std::shared_ptr<const Command> order) {
  const auto* start = std::get_if<StartWorkers>(&order->body);
  if (start == nullptr) return order;
  const auto is_overtaken = [&](const WorkerStart& w) {
    return w.node == id && !session_.is_wanted(start->job, w);
  };
  if (std::none_of(start->workers.begin(), start->workers.end(), is_overtaken)) return order;
  Command rest = *order;
  std::vector<WorkerStart>& workers = std::get<StartWorkers>(rest.body).workers;
  std::erase_if(workers, [&](const WorkerStart& w) { return w.node != id; });
  for (const WorkerStart& worker : workers)
    if (is_overtaken(worker)) session_.overtaken(start->job, start->generation, worker);
  std::erase_if(workers, is_overtaken);
  return workers.empty() ? nullptr : std::make_shared<const Command>(std::move(rest));
}

void Leader::close(NodeId node, std::string_view why) {
  if (!is_open(node)) return;
  streams_.close(node, why);
  disconnected(node);
}

void Leader::give_up(NodeId id) {
  Node& node = at(id);
  node.waiting.clear();
  node.registered = false;
}

// --- time ---

void Leader::time_reached(Instant now) {
  std::vector<NodeId> silent;
  session_.time_reached(now, silent);
  for (const NodeId node : silent) give_up(node);
}

void Leader::save(ByteWriter& out) const {
  Encoder encoder(out);
  session_.save(out);
  encoder.put(established_);
  for (const Node& node : nodes_) {
    encoder.put(node.open);
    encoder.put(node.was_connected);
    encoder.put(node.registered);
    out.varint(node.waiting.size());
    for (const std::shared_ptr<const Command>& order : node.waiting) encoder.put(order);
    out.varint(node.told.size());
    for (const auto& [job, generation] : node.told) {
      encoder.put(job);
      encoder.put(generation);
    }
  }
}

LeaderEntries Leader::entries() const {
  LeaderEntries entries;
  entries.jobs = session_.jobs_noted();
  entries.expected = session_.liveness().noted() + session_.suspicions().watched();
  for (const Node& node : nodes_) {
    entries.waiting += node.waiting.size();
    entries.told += node.told.size();
  }
  return entries;
}

}  // namespace orrery
