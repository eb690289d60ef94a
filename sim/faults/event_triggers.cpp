#include "sim/faults/event_triggers.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace orrery::sim {
namespace {

using scenarios::AfterEvent;
using scenarios::Fault;
using scenarios::ObservedEvent;
using scenarios::OrderKind;

struct Place {
  RoleIndex role;
  std::int32_t local_rank = 0;
};

/// Role and index inside it of a worker that was born with this rank. Ranks count through the
/// roles; behind one whose size may change, the state must still know the worker.
std::optional<Place> place_of(const JobState& job, Rank rank) {
  std::int64_t left = rank.value;
  const auto& roles = job.spec->roles;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    if (left < roles[r].min_replicas)
      return Place{RoleIndex{static_cast<std::uint16_t>(r)}, static_cast<std::int32_t>(left)};
    if (roles[r].is_elastic()) break;
    left -= roles[r].min_replicas;
  }
  for (const Worker& worker : job.workers)
    if (worker.birth_rank == rank) return Place{worker.role, worker.local_rank};
  return std::nullopt;
}

bool is_worker(const scenarios::WorkerRef& wanted, const JobState& job, Rank rank) {
  if (wanted.role.empty()) return rank.value == static_cast<std::uint32_t>(wanted.index);
  const auto place = place_of(job, rank);
  return place && place->local_rank == wanted.index &&
         job.spec->roles[place->role.index()].name == wanted.role;
}

/// Orders that a fault may wait for; nothing for the others.
std::optional<OrderKind> kind_of(const CommandBody& order) {
  if (std::holds_alternative<StartWorkers>(order)) return OrderKind::StartWorkers;
  if (std::holds_alternative<StopWorkers>(order)) return OrderKind::StopWorkers;
  if (std::holds_alternative<UpdateMembership>(order)) return OrderKind::UpdateMembership;
  if (std::holds_alternative<CleanJob>(order)) return OrderKind::CleanJob;
  return std::nullopt;
}

}  // namespace

EventTriggers::EventTriggers(const scenarios::Scenario& scenario) : scenario_(scenario) {
  for (std::uint32_t i = 0; i < scenario.faults.size(); ++i)
    if (scenario.faults[i].after) waiting_.push_back({.index = i});
}

bool EventTriggers::matches(const AfterEvent& wanted, const Seen& seen) {
  if (wanted.event != seen.event) return false;
  if (!wanted.job.empty() && (seen.job == nullptr || seen.job->spec->name != wanted.job))
    return false;
  switch (wanted.event) {
    case ObservedEvent::Phase:
      return !wanted.phase || *wanted.phase == seen.phase;
    case ObservedEvent::Ready:
    case ObservedEvent::Exit:
      return !wanted.worker ||
             (seen.job != nullptr && is_worker(*wanted.worker, *seen.job, seen.rank));
    case ObservedEvent::NodeSilent:
    case ObservedEvent::NodeReturned:
    case ObservedEvent::Incident:
      return wanted.node.is_none() || wanted.node == seen.node;
    case ObservedEvent::Command:
      return !wanted.command || *wanted.command == seen.command;
    case ObservedEvent::Fault:
      return wanted.fault == seen.fault;
    case ObservedEvent::Checkpoint:
    case ObservedEvent::Epoch:
      return true;
  }
  return false;
}

void EventTriggers::happened(const Seen& seen) {
  for (Waiting& waiting : waiting_) {
    const Fault& fault = scenario_.faults[waiting.index];
    if (waiting.strikes >= fault.times || !matches(*fault.after, seen)) continue;
    if (++waiting.seen < fault.after->count) continue;
    const Instant at = seen.at + fault.after->delay;
    // Without a time between strikes, each further event brings the next one.
    const std::int32_t strikes = fault.every.ns > 0 ? fault.times : 1;
    scenarios::for_each_strike(fault, at, strikes, [&](Instant due) {
      due_.push_back({waiting.index, due});
    });
    waiting.strikes += strikes;
  }
}

void EventTriggers::on_event(const Event& event, const State& state) {
  if (!any()) return;
  Seen seen;
  seen.at = event.at;
  if (const auto* started = std::get_if<EpochStarted>(&event.body)) {
    if (started->epoch.value <= 1) return;
    seen.event = ObservedEvent::Epoch;
    happened(seen);
  } else if (const auto* progress = std::get_if<ProgressReported>(&event.body)) {
    seen.job = state.find(progress->job);
    if (!progress->checkpointed || seen.job == nullptr) return;
    seen.event = ObservedEvent::Checkpoint;
    happened(seen);
  }
}

void EventTriggers::on_notices(std::span<const Notice> notices, const State& state) {
  if (!any()) return;
  for (const Notice& notice : notices) {
    Seen seen;
    seen.at = notice.at;
    seen.job = notice.job.is_none() ? nullptr : state.find(notice.job);
    seen.node = notice.node;
    if (notice.kind == NoticeKind::PhaseChanged) {
      seen.event = ObservedEvent::Phase;
      seen.phase = notice.to;
      happened(seen);
    } else if (notice.kind == NoticeKind::IncidentOpened) {
      seen.event = ObservedEvent::Incident;
      happened(seen);
    } else if (notice.kind == NoticeKind::NodeChanged &&
               (notice.change == NodeChange::Silent || notice.change == NodeChange::Returned)) {
      const bool silent = notice.change == NodeChange::Silent;
      seen.event = silent ? ObservedEvent::NodeSilent : ObservedEvent::NodeReturned;
      happened(seen);
    } else if (notice.kind == NoticeKind::WorkersReported) {
      const bool ready = is_up(notice.fact);
      seen.event = ready ? ObservedEvent::Ready : ObservedEvent::Exit;
      for (std::int32_t i = 0; i < notice.count; ++i) {
        seen.rank = Rank{notice.first.value + static_cast<std::uint32_t>(i)};
        happened(seen);
      }
    }
  }
}

void EventTriggers::on_order(const CommandBody& order, const State& state, Instant now) {
  if (!any()) return;
  const auto kind = kind_of(order);
  if (!kind) return;
  Seen seen;
  seen.event = ObservedEvent::Command;
  seen.at = now;
  seen.command = *kind;
  const JobId job = std::visit([](const auto& body) { return body.job; }, order);
  seen.job = state.find(job);
  happened(seen);
}

void EventTriggers::on_struck(std::uint32_t index, Instant now) {
  Seen seen;
  seen.event = ObservedEvent::Fault;
  seen.at = now;
  seen.fault = index;
  happened(seen);
}

void EventTriggers::take(std::vector<Strike>& strikes) {
  strikes.insert(strikes.end(), due_.begin(), due_.end());
  due_.clear();
}

std::vector<std::string> EventTriggers::never_struck() const {
  std::vector<std::string> out;
  for (const Waiting& waiting : waiting_) {
    if (waiting.strikes > 0) continue;
    const AfterEvent& after = *scenario_.faults[waiting.index].after;
    out.push_back("faults[" + std::to_string(waiting.index) + "] never struck: its event (" +
                  std::string(to_string(after.event)) +
                  (after.job.empty() ? "" : " of " + after.job) + ") came " +
                  std::to_string(waiting.seen) + " of " + std::to_string(after.count) + " times");
  }
  return out;
}

}  // namespace orrery::sim
