// Nodes that connect to a term over their streams, and what agents report there.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/cluster/ledger.hpp"
#include "core/control/epoch_leap.hpp"
#include "core/leader/own_reports.hpp"
#include "core/recovery/failure_notes.hpp"
#include "runtime/controller/leader_term.hpp"

namespace orrery::runtime {
namespace {

// Of what a worker wrote before it failed, so much is kept with its job.
constexpr int kFailureLines = 20;

constexpr const char* kHaltedTerm =
    "this controller cannot write its journal: no node can join before it can";

/// Measurements differ in every digit each time; three of them are worth a record.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

/// What a node gives to its group of one.
NodeGroup group_of(const Hello& hello) {
  NodeGroup group;
  group.name = hello.group.empty() ? "default" : hello.group;
  group.count = 1;
  group.cpu = hello.inventory.cpu;
  group.memory = hello.inventory.memory;
  group.devices = static_cast<std::int32_t>(hello.inventory.devices.size());
  if (group.devices > 0) group.device_model = hello.inventory.devices.front().model;
  group.vendor = hello.inventory.vendor;
  group.hardware = hello.inventory.hardware;
  group.node_names = {hello.node};
  group.ports = hello.inventory.ports;
  return group;
}

}  // namespace

// --- connecting nodes ---

void LeaderTerm::heard(LinkId link, const Peer& peer, AgentMessage message) {
  if (const auto* said = std::get_if<Hello>(&message)) return hello(link, peer, *said);
  const NodeId node = sessions_.node_of(link);
  // What a stream says that is closed already, or waits for its welcome, is of no use.
  if (node.is_none()) return;
  std::visit(
      [&](auto& body) {
        if constexpr (requires { this->on(node, body); }) on(node, body);
      },
      message);
}

void LeaderTerm::closed(LinkId link) {
  std::erase_if(pending_, [&](const PendingAgent& pending) { return pending.link == link; });
  welcoming_.erase(link.value);
  const NodeId node = sessions_.node_of(link);
  sessions_.detach(link);
  if (node.is_none()) return;
  leader_.disconnected(node);
  out_of_reach(node);
}

void LeaderTerm::out_of_reach(NodeId node) {
  logs_.lost(node);
  checks_.lost(node, clock_.now());
}

void LeaderTerm::refuse(LinkId link, std::string reason, bool again) {
  refuse(link, Refusal{std::move(reason), again, {}});
}

void LeaderTerm::refuse(LinkId link, const Refusal& refusal) {
  parts_.links.send(link, refusal);
  parts_.links.close(link, refusal.reason);
}

void LeaderTerm::hello(LinkId link, const Peer& peer, const Hello& said) {
  if (said.link_version != kLinkVersion)
    return refuse(link,
                  "the agent speaks version " + std::to_string(said.link_version) +
                      " of the protocol, version " + std::to_string(kLinkVersion) +
                      " is needed; install the controller's version",
                  false);
  if (!is_dns_label(said.node))
    return refuse(link,
                  "node: '" + said.node +
                      "' found, a DNS label (a-z, 0-9, '-') is needed; give the node such a name",
                  false);
  if (peer.authenticated && (peer.role != "agent" || peer.name != said.node))
    return refuse(link,
                  "node " + said.node + " found, the certificate is for " + peer.role + " " +
                      peer.name + "; make one with orrery certs agent " + said.node,
                  false);
  if (said.inventory.devices.size() > 64)
    return refuse(link,
                  std::to_string(said.inventory.devices.size()) +
                      " devices found, at most 64 can be managed on a node; configure fewer",
                  false);
  // Nothing can be promised to a node that connects now; if it asks again it may find the next
  // term.
  if (halted_) return refuse(link, kHaltedTerm, true);
  pending_.push_back({link, peer, said});
}

void LeaderTerm::refuse_pending() {
  for (const PendingAgent& pending : std::exchange(pending_, {}))
    refuse(pending.link, kHaltedTerm, true);
  for (const std::uint64_t link : std::exchange(welcoming_, {}))
    refuse(LinkId{link}, kHaltedTerm, true);
}

// Nodes that said hello since the last sweep; unknown ones are declared together.
void LeaderTerm::declare_pending() {
  if (pending_.empty() || !established_ || halted_) return;
  const State& state = controller_->state();
  const auto learn_names = [&] {
    for (; named_ < state.nodes.size(); ++named_)
      if (!state.nodes[named_].name.empty())
        names_[state.nodes[named_].name] = NodeId{static_cast<std::uint32_t>(named_)};
  };
  learn_names();
  NodesDeclared declared;
  std::map<std::string, int> fresh;
  for (const PendingAgent& pending : pending_)
    if (!parts_.config.closed_cluster && !names_.contains(pending.hello.node) &&
        fresh[pending.hello.node]++ == 0)
      declared.groups.push_back(group_of(pending.hello));
  if (!declared.groups.empty()) {
    const Instant now = clock_.now();
    const std::size_t before = state.nodes.size();
    // Until this has succeeded they are pending, and a halt turns them away.
    if (!driver_.apply({{now, now, Origin::External, std::move(declared)}})) return halt();
    if (parts_.config.node_check && !hold_back(before)) return halt();
    leader_.declare_nodes(static_cast<std::uint32_t>(state.nodes.size() - before), now);
    learn_names();
  }
  for (const PendingAgent& pending : std::exchange(pending_, {})) {
    const auto known = names_.find(pending.hello.node);
    // Of a closed cluster a name may have been taken out since its node joined.
    if (known == names_.end() ||
        (parts_.config.closed_cluster && !configured_.contains(pending.hello.node))) {
      refuse(pending.link,
             "node " + pending.hello.node +
                 " is not declared and the cluster is closed; add it to the controller's groups",
             true);
      continue;
    }
    const NodeId node = known->second;
    welcoming_.insert(pending.link.value);
    // The declaration must outlive the controller before the agent goes by its number.
    const bool is_fresh = fresh.contains(pending.hello.node);
    until_durable_.push_back({state.sequence, [this, pending, node, is_fresh](bool durable) {
                                if (durable) welcome(pending, node, is_fresh);
                              }});
  }
}

// Nodes from `first` on are not used before they have been checked. A batch of its own: in one
// batch facts of nodes would come before their declaration.
bool LeaderTerm::hold_back(std::size_t first) {
  const Instant now = clock_.now();
  std::vector<Event> events;
  for (std::size_t i = first; i < state().nodes.size(); ++i)
    events.push_back({now, now, Origin::External, NodeHeld{NodeId{static_cast<std::uint32_t>(i)}}});
  return events.empty() || driver_.apply(std::move(events)).has_value();
}

// An agent's list is believed, so whoever takes the place of an agent before must know what that
// one has started. Of another state folder it does not: then it waits until nothing of that runs
// any more, for the node's lease is over.
std::optional<Refusal> LeaderTerm::not_now(NodeId node, const Hello& hello) const {
  const AgentSessions::Last last = sessions_.last_of(node);
  // Which folders there were before this term is not known, only that nodes declared in it had
  // none.
  const bool may_have_had_one = node.index() < nodes_of_before_;
  const bool is_other =
      last.session == 0 ? hello.unknown && may_have_had_one : hello.folder_id != last.folder_id;
  if (is_other && !state().nodes[node.index()].silent) {
    if (last.is_connected)
      return Refusal{"node " + hello.node +
                         " is connected with another state folder; end one of the two agents, or "
                         "give one of them another name",
                     true,
                     {}};
    if (!owners_on(state().ledger, node).empty())
      return Refusal{"node " + hello.node +
                         " had another state folder before; it can join once the lease is over "
                         "under which workers may still run there",
                     true,
                     {}};
  }
  if (!is_other && hello.session < last.session && last.is_connected)
    return Refusal{
        "a later agent of node " + hello.node + " is connected; end one of the two", false, {}};
  if (hello.session < last.session || (is_other && hello.session == last.session))
    return Refusal{
        "another agent of node " + hello.node + " was here since; this one begins a new session",
        true,
        {},
        last.session};
  return std::nullopt;
}

void LeaderTerm::welcome(const PendingAgent& pending, NodeId node, bool fresh) {
  if (welcoming_.erase(pending.link.value) == 0) return;  // It has gone meanwhile.
  if (const std::optional<Refusal> why = not_now(node, pending.hello))
    return refuse(pending.link, *why);
  const bool is_replaced = sessions_.last_of(node).is_connected;
  const NodeState& known = state().nodes[node.index()];
  if (parts_.config.node_check && (fresh || known.silent || known.lost_device))
    checks_.want(node, clock_.now());
  sessions_.attach(pending.link, node, pending.hello, pending.peer);
  leader_.connected(node);
  tell_other_ports(node, pending.hello.inventory.ports);
  sessions_.send(node, Welcome{epoch_, node, settings_, parts_.config.advertised_url});
  // What was asked for on the stream before is not answered on this one. The end of that one is of
  // no node any more.
  if (is_replaced) out_of_reach(node);
}

// The node was declared with its ports, before, or in the controller's own groups.
void LeaderTerm::tell_other_ports(NodeId node, PortRange offered) {
  const PortRange declared = state().ledger.ports().range(node);
  if (offered == declared || offered == PortRange::standard()) return;
  const auto text = [](PortRange range) {
    return std::to_string(range.first) + "-" + std::to_string(range.end() - 1);
  };
  add_line(
      clock_.now(),
      JobId::none(),
      node,
      {Severity::Warning,
       "OtherPorts",
       "the agent's inventory.ports is " + text(offered) + ", the node was declared with " +
           text(declared) +
           ", and that its workers are given; write the same in both, or give the node another "
           "name"});
}

// --- what agents say ---

// Devices that the node was declared with and its agent did not find do not work either.
std::uint64_t LeaderTerm::withheld(NodeId node) {
  const auto declared = static_cast<std::size_t>(state().ledger.node(node).devices);
  const std::size_t found = sessions_.facts()[node.index()].inventory.devices.size();
  std::uint64_t missing = 0;
  for (std::size_t i = found; i < declared; ++i) missing |= std::uint64_t{1} << i;
  return missing;
}

// For its check, or since a worker there is stuck.
bool LeaderTerm::is_held(NodeId node) {
  return checks_.holds_back(node) || sessions_.facts()[node.index()].held;
}

// The journal was put back from a copy, or lost its end. Agents refuse what an earlier epoch says,
// so a later one must begin; it leaves out the numbers that they may know of the records that went.
bool LeaderTerm::look_for_later_records(NodeId node, const Beat& beat) {
  if (outgrown_ || halted_ || !established_) return false;
  const bool later_epoch = beat.epoch > epoch_;
  // Orders of this term may be on their way back to us; those of earlier ones are before its begin.
  const bool later_record = parts_.trusts_seen && beat.registers && beat.seen >= begun_at_ &&
                            beat.seen > sessions_.last_sent(node);
  if (!later_epoch && !later_record) return false;
  constexpr std::uint32_t kLeapMax = 1'000'000;  // Terms; no leader had so many.
  if (later_epoch && beat.epoch.value - epoch_.value > kLeapMax) return false;
  outgrown_ = Epoch{std::max(beat.epoch, epoch_).value + kEpochLeap};
  add_line(clock_.now(),
           JobId::none(),
           node,
           {Severity::Warning,
            "JournalIsBehind",
            "the node has heard of epoch " + std::to_string(beat.epoch.value) + ", record " +
                std::to_string(beat.seen.value) + "; this journal was at epoch " +
                std::to_string(epoch_.value) + ", record " + std::to_string(begun_at_.value) +
                ", when its term began: it was put back from a copy, or has lost its end; what "
                "came later is forgotten, and epoch " +
                std::to_string(outgrown_->value) +
                " begins; where no backup was restored on purpose, restore one and look for jobs "
                "to submit "
                "again"});
  return true;
}

void LeaderTerm::on(NodeId node, Beat& beat) {
  if (!is_own(node, beat.node)) return;
  if (look_for_later_records(node, beat)) return;  // The next term answers.
  if (beat.registers) {
    sessions_.note_unusable(node, beat.lost_devices, beat.held);
    beat.lost_devices |= withheld(node);
  }
  const Instant now = clock_.now();
  HeardBeat heard{heartbeat_of(beat), beat.measured, beat.lost_devices};
  heard.held = is_held(node);
  heard.sent_at = now;
  heard.leaves_at = beat.leaves_in.is_forever() ? Instant::never() : now + beat.leaves_in;
  const HeartbeatVerdict verdict =
      leader_.beat(node, std::move(heard), parts_.election.is_certain(), now);
  if (verdict == HeartbeatVerdict::Renewed) sessions_.note_heard(node, now);
  if (verdict == HeartbeatVerdict::NotRegistered && established_) out_of_reach(node);
  for (ProfilingChanged& measured : beat.measured) {
    for (ProfilingValue& value : measured.values) value.value = rounded(value.value);
    leader_.profiled(node, measured, now);
  }
}

void LeaderTerm::on(NodeId node, const Reports& reports) {
  const Instant now = clock_.now();
  leader_.reported(node, reports.changes, now, now);
}

void LeaderTerm::on(NodeId node, const Fact& fact) {
  const Instant now = clock_.now();
  const Instant occurred_at = now - std::max(fact.age, Duration::zero());
  if (const auto* leaving = std::get_if<NodeLeaving>(&fact.body)) {
    if (!is_own(node, leaving->node) || fact.leaves_in.is_forever()) return;
    return leader_.leaving(
        node, now + std::max(fact.leaves_in, Duration::zero()), occurred_at, now);
  }
  // What a worker left when it failed comes as WorkerNotice.
  if (std::holds_alternative<FailureExplained>(fact.body))
    return reached(Mark::LeaderRejectedReport);
  const auto* lost = std::get_if<DevicesLost>(&fact.body);
  const auto* held = std::get_if<NodeHeld>(&fact.body);
  if (lost != nullptr || held != nullptr) {
    if (!is_own(node, held != nullptr ? held->node : lost->node)) return;
    const std::uint64_t devices = held != nullptr ? held->devices : lost->devices;
    sessions_.note_unusable(node, devices, held != nullptr);
    return leader_.lacks(node, devices | withheld(node), is_held(node), occurred_at, now);
  }
  (void)leader_.said(node, fact.body, occurred_at, now);
}

void LeaderTerm::on(NodeId node, const WorkerNotice& notice) {
  const Instant now = clock_.now();
  FailureExplained explained{
      notice.job, notice.incarnation, notice.birth_rank, notice.sentence, {}};
  explained.last_lines = last_lines(notice.log_tail, kFailureLines, kFailureTextMax);
  const bool counts = notice.failed ? leader_.said(node, std::move(explained), now, now)
                                    : is_own(state(), node, explained);
  if (!counts) return;
  UserEvent event{Severity::Warning, "WorkerTrouble", notice.sentence};
  if (!notice.log_tail.empty()) event.message += "\n" + notice.log_tail;
  add_line(now, notice.job, node, std::move(event));
}

}  // namespace orrery::runtime
