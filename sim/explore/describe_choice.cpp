// A step of an explored world in words.
#include <string>

#include "sim/explore/explored_world.hpp"

namespace orrery::sim {
namespace {

std::string node_name(std::size_t n) { return "node " + std::to_string(n); }

std::string worker_name(const WorkerName& name) {
  return "worker " + std::to_string(name.birth_rank.value) + " of job " +
         std::to_string(name.job.value) + ", incarnation " + std::to_string(name.incarnation.value);
}

// The kind of order, as its record is called.
struct OrderName {
  std::string operator()(const StartWorkers&) const { return "StartWorkers"; }

  std::string operator()(const StopWorkers&) const { return "StopWorkers"; }

  std::string operator()(const UpdateMembership&) const { return "UpdateMembership"; }

  std::string operator()(const CleanJob&) const { return "CleanJob"; }

  std::string operator()(const AnswerRequest&) const { return "AnswerRequest"; }

  std::string operator()(const TellSubMaster&) const { return "TellSubMaster"; }

  std::string operator()(const RelaunchNodes&) const { return "RelaunchNodes"; }
};

std::string text_of(const Message& message) {
  switch (message.kind) {
    case MessageKind::Order:
      return std::visit(OrderName{}, message.order->body) + " of epoch " +
             std::to_string(message.order->epoch.value);
    case MessageKind::Renewal:
      return "the lease renewed for what left at " +
             std::to_string(message.heard_of.ns / 1'000'000'000) + " s";
    case MessageKind::Announcement:
      return "epoch " + std::to_string(message.epoch.value) + " announced";
    case MessageKind::Beat:
      return std::string(message.beat.registers ? "a registration" : "a heartbeat") + " with " +
             std::to_string(message.beat.workers.size()) + " workers, of " +
             std::to_string(message.beat.sent_at.ns / 1'000'000'000) + " s";
    case MessageKind::Reports: {
      std::string out = "a report:";
      for (const WorkersChanged& change : message.reports)
        out += " " + std::string(to_string(change.fact)) + " worker " +
               std::to_string(change.first.value) + " of job " + std::to_string(change.job.value) +
               ", incarnation " + std::to_string(change.incarnation.value) + ";";
      out.pop_back();
      return out;
    }
    case MessageKind::Fact:
      break;
  }
  return "a fact";
}

}  // namespace

std::string ExploredWorld::describe(const Choice& choice) const {
  const std::size_t a = choice.a;
  const std::size_t b = choice.b;
  const auto leader = [&](std::size_t l) {
    if (!leaders_[l].is_there()) return std::string("a leader that is gone");
    return "leader " + std::to_string(leaders_[l].get().number().value);
  };
  const auto kept = [&] {
    const std::size_t tail = journal_.get().not_durable();
    return tail == 0 ? std::string()
                     : "; of " + std::to_string(tail) + " records that are not durable " +
                           std::to_string(b) + " are kept";
  };
  const std::string at = std::to_string(now().ns / 1'000'000'000) + " s: ";
  switch (choice.kind) {
    case ChoiceKind::Turn:
      return at + leader(a) + " takes a turn";
    case ChoiceKind::Commit:
      return at + "all records become durable";
    case ChoiceKind::ToNode:
      return at + node_name(b) + " hears " + leader(a) + ": " +
             text_of(*link(a, b).to_node.front());
    case ChoiceKind::ToLeader:
      return at + leader(a) + " hears " + node_name(b) + ": " +
             text_of(*link(a, b).to_leader.front());
    case ChoiceKind::Seen:
      return at + "the agent of " + node_name(a) + " sees the end of " +
             worker_name(node(a).unseen.front().worker);
    case ChoiceKind::Ready:
      return at + worker_name(process(a, b)) + " is ready on " + node_name(a);
    case ChoiceKind::NodeTimer:
      return at +
             (node(a).host.agent_is_up() ? "what is due at the agent of " : "the fence falls on ") +
             node_name(a);
    case ChoiceKind::LeaderTimer:
      return at + "a deadline of nodes is reached at " + leader(a);
    case ChoiceKind::NoticeNode:
      return at + node_name(b) + " notices that its connection to " + leader(a) + " is broken";
    case ChoiceKind::NoticeLeader:
      return at + leader(a) + " notices that its connection to " + node_name(b) + " is broken";
    case ChoiceKind::Connect:
      return at + node_name(b) + " connects to " + leader(a);
    case ChoiceKind::Submit:
      return at + "client " + std::to_string(b) + " submits its job to " + leader(a);
    case ChoiceKind::EndAsked:
      return at + worker_name(process(a, b)) + " ends on " + node_name(a) + ", as it was asked to";
    case ChoiceKind::Advance:
      return at + "a second passes";
    case ChoiceKind::Break:
      return at + "the connection of " + leader(a) + " and " + node_name(b) + " breaks";
    case ChoiceKind::CrashLeader:
      return at + leader(a) + " dies" + kept();
    case ChoiceKind::StartLeader:
      return at + "leader " + std::to_string(rest_.get().started.value + 1) + " begins" + kept();
    case ChoiceKind::CrashAgent:
      return at + "the agent of " + node_name(a) + " dies";
    case ChoiceKind::ReturnAgent:
      return at + "the agent of " + node_name(a) + " is back";
    case ChoiceKind::CrashNode:
      return at + node_name(a) + " dies";
    case ChoiceKind::BootNode:
      return at + node_name(a) + " is back, empty";
    case ChoiceKind::Exit:
      return at + worker_name(process(a, b)) + " ends well on " + node_name(a);
    case ChoiceKind::Fail:
      return at + worker_name(process(a, b)) + " fails on " + node_name(a);
    case ChoiceKind::Stop:
      return at + "client " + std::to_string(b) + " asks " + leader(a) + " to stop its job";
    case ChoiceKind::Late:
      return at + "what is due at " + node_name(a) + " comes late";
    case ChoiceKind::Hold:
      return at + "from now on this waits: " + describe(held_by(choice)).substr(at.size());
    case ChoiceKind::Release: {
      const Choice held = held_by(choice);
      return at + "no longer waits: " + std::string(to_string(held.kind)) + " " +
             std::to_string(held.a) + " " + std::to_string(held.b);
    }
  }
  return at;
}

}  // namespace orrery::sim
