#include "sim/explore/explored_leader.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/control/state_view.hpp"
#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {

void PromptPlanner::ask(const PlanRequest& request, Controller& controller) {
  (void)controller.take_touched();
  const StateView view(controller.state(), {}, false);
  const std::unique_ptr<Policy> policy = around_.policy();
  answer_ =
      PlanProposed{request.view, request.trigger, request.job, run_policy(*policy, request, view)};
}

std::optional<PlanAnswer> PromptPlanner::take(Instant) {
  return std::exchange(answer_, std::nullopt);
}

Status ExploredLeader::begin(const Settings& settings, const std::vector<NodeGroup>& groups) {
  const Result<JournalEnd> replayed = replay(*this, controller_);
  if (!replayed) return replayed.errors();
  driver_.continue_from(replayed->chain, replayed->snapshot);
  const State& state = controller_.state();
  // An epoch whose record was lost is not used again: its leader may still be alive.
  epoch_ = std::max(state.epoch, around_.journal().epoch()).next();
  if (planted(Bug::EpochNotRaised) && state.epoch.value > 0) epoch_ = state.epoch;
  begun_at_ = state.sequence.next();
  std::uint32_t nodes = 0;
  for (const NodeGroup& group : groups) nodes += static_cast<std::uint32_t>(group.count);
  leader_.emplace(
      epoch_, state, settings, nodes, now(), Duration::zero(), static_cast<NodeStreams&>(*this));
  std::vector<Event> opening{{now(), now(), Origin::External, EpochStarted{epoch_, settings}}};
  if (state.nodes.empty())
    opening.push_back({now(), now(), Origin::External, NodesDeclared{groups}});
  return driver_.apply(std::move(opening));
}

void ExploredLeader::committed() {
  idle_ = false;
  if (!is_established() && durable() >= begun_at_) leader_->establish(now());
}

void ExploredLeader::succeeded(Instant grants_until, Sequence durable) {
  grants_until_ = std::min(grants_until_, grants_until);
  durable_then_ = durable;
}

bool ExploredLeader::has_work() const {
  return is_established() && (!idle_ || leader_->has_news() || wake_ <= now());
}

Turn ExploredLeader::turn() {
  const Turn did = driver_.turn();
  idle_ = did == Turn::Idle;
  wake_ = driver_.next_wake();
  return did;
}

void ExploredLeader::heard(const Message& message) {
  if (message.kind == MessageKind::Reports) {
    leader_->reported(message.node, message.reports, message.sent_at, now());
    return;
  }
  invariant(message.kind == MessageKind::Beat, "an explored agent sends beats and reports");
  HeardBeat heard;
  heard.beat = message.beat;
  heard.sent_at = message.sent_at;
  (void)leader_->beat(message.node, std::move(heard), now() < grants_until_, now());
}

void ExploredLeader::save(ByteWriter& out) const {
  Encoder encoder(out);
  out.varint(slot_);
  encoder.put(number_);
  encoder.put(epoch_);
  controller_.state().save(out);
  // What is due is asked for between turns, and is no part of a saved state.
  const PlansDue& due = controller_.state().due;
  out.varint(due.submissions.size());
  for (const JobId job : due.submissions) encoder.put(job);
  for (const bool flag :
       {due.completion, due.capacity, due.period, due.again, due.ports_wanted, due.ports_given})
    encoder.put(flag);
  invariant(!planner_.is_busy(), "a plan is taken in the turn that asks for it");
  driver_.save(out);
  leader_->save(out);
  encoder.put(begun_at_);
  encoder.put(grants_until_);
  encoder.put(durable_then_);
  encoder.put(wake_);
  encoder.put(idle_);
}

// --- World ---

void ExploredLeader::issue(const Command& command) {
  around_.issued(*this, command);
  leader_->order(command);
}

bool ExploredLeader::wait_events(Instant, std::vector<Event>& events) {
  leader_->take_news(events);
  return true;
}

// --- NodeStreams ---

void ExploredLeader::renew(NodeId node, Instant heard_of, bool) {
  Message message;
  message.kind = MessageKind::Renewal;
  message.epoch = epoch_;
  message.heard_of = heard_of;
  around_.say(*this, node, std::move(message));
}

void ExploredLeader::announce(NodeId node) {
  Message message;
  message.kind = MessageKind::Announcement;
  message.epoch = epoch_;
  around_.say(*this, node, std::move(message));
}

void ExploredLeader::order(NodeId node, const std::shared_ptr<const Command>& command) {
  Message message;
  message.kind = MessageKind::Order;
  message.order = command;
  around_.say(*this, node, std::move(message));
}

// --- StateStore ---

Status ExploredLeader::append(Epoch writer, std::span<const StoredRecord> records) {
  return around_.journal_to_write().append(number_, writer, records);
}

Sequence ExploredLeader::durable() const {
  const ExploredJournal& journal = around_.journal();
  return journal.is_of(number_) ? journal.durable() : durable_then_;
}

Status ExploredLeader::sync() {
  const ExploredJournal& journal = around_.journal();
  if (!journal.is_of(number_)) return deposed({}, epoch_, journal.epoch());
  return Done{};
}

Status ExploredLeader::read_from(Sequence first,
                                 const std::function<bool(const StoredRecord&)>& visit) {
  return around_.journal().read_from(first, visit);
}

}  // namespace orrery::sim
