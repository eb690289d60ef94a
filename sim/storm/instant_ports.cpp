#include "sim/storm/instant_ports.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery::sim {
namespace {

auto name_of(const WorldProcess& p) { return std::tie(p.job, p.incarnation, p.birth_rank); }

WorldProcess process_of(const LivingProcess& p) {
  return {p.job,
          p.incarnation,
          p.birth_rank,
          p.born,
          p.generation,
          p.rank,
          p.role,
          p.local_rank,
          p.node,
          p.devices,
          p.share};
}

}  // namespace

/// One leader's ear and mouth.
class InstantPorts::Port final : public World {
 public:
  Port(InstantPorts& ports, LeaderNumber leader, Epoch epoch)
      : ports_(ports), leader_(leader), epoch_(epoch) {}

  Instant now() const override { return ports_.now(); }

  void issue(const Command& command) override { ports_.obey(epoch_, command); }

  bool wait_events(Instant, std::vector<Event>& events) override {
    std::move(heard_.begin(), heard_.end(), std::back_inserter(events));
    heard_.clear();
    return true;
  }

  LeaderNumber leader() const { return leader_; }

  Epoch epoch() const { return epoch_; }

  bool has_heard(Instant now) const { return !heard_.empty() && now >= paused_until; }

  Instant paused_until;

  void hear(Event event) { heard_.push_back(std::move(event)); }

 private:
  InstantPorts& ports_;
  LeaderNumber leader_;
  Epoch epoch_;
  std::vector<Event> heard_;
};

InstantPorts::InstantPorts(const scenarios::Scenario& scenario, JobSource& source, WorldTap* tap)
    : scenario_(scenario),
      tap_(tap),
      down_since_(static_cast<std::size_t>(scenario.node_count()), Instant::never()),
      room_(scenario, source, *this) {}

InstantPorts::~InstantPorts() = default;

// --- leaders ---

World& InstantPorts::port(LeaderNumber leader, Epoch epoch, const State& state) {
  ports_.push_back(std::make_unique<Port>(*this, leader, epoch));
  answer_what_is_journaled(state);
  for (const Submission& submission : unanswered_)
    emit(Origin::External, now(), JobSubmitted{submission.request, submission.spec});
  return *ports_.back();
}

// A client that asks again learns that it was accepted before. Submissions are journaled in order.
void InstantPorts::answer_what_is_journaled(const State& state) {
  while (!unanswered_.empty()) {
    const JobId job = state.named(unanswered_.front().spec->name);
    if (job.is_none()) return;
    room_.obey(AnswerRequest{unanswered_.front().request, job, true, {}});
    unanswered_.pop_front();
  }
}

// Every node registers with the new leader: what has ended, then what runs.
void InstantPorts::established(LeaderNumber leader) {
  if (ports_.empty() || ports_.back()->leader() != leader) return;
  established_ = std::max(established_, ports_.back()->epoch());
  for (const auto& [job, reports] : ended_)
    for (const WorkersChanged& report : reports) emit(Origin::Reaction, now(), report);
  for (std::uint32_t n = 0; n < down_since_.size(); ++n) {
    const NodeId node{n};
    if (down_since_[n].is_never())
      emit(Origin::External, now(), NodeReturned{node, room_.complete_list(node)});
    else
      watch_.push(now() + scenario_.settings.node_lease + scenario_.settings.takeover_grace,
                  FutureKind::NodeDown,
                  n);
  }
}

void InstantPorts::close(LeaderNumber leader) {
  std::erase_if(ports_, [&](const auto& port) { return port->leader() == leader; });
}

void InstantPorts::pause(LeaderNumber leader, Instant until) {
  for (const auto& port : ports_)
    if (port->leader() == leader) port->paused_until = std::max(port->paused_until, until);
}

void InstantPorts::advance(Instant until) {
  const auto heard = [&] {
    return std::any_of(
        ports_.begin(), ports_.end(), [&](const auto& p) { return p->has_heard(now()); });
  };
  while (!heard()) {
    const Instant next =
        std::min(room_.next(), watch_.empty() ? Instant::never() : watch_.top().at);
    if (next > until) {
      room_.wait_to(until);
      return;
    }
    room_.pass_to(next);
    watch_until(room_.now());
    tell_processes();
    if (next == until) return;
  }
}

void InstantPorts::obey(Epoch epoch, const Command& command) {
  if (epoch < established_) return;
  if (const auto* answer = std::get_if<AnswerRequest>(&command.body)) {
    const bool is_next = !unanswered_.empty() && unanswered_.front().request == answer->request;
    if (!is_next) return;
    unanswered_.pop_front();
  }
  if (const auto* clean = std::get_if<CleanJob>(&command.body)) ended_.erase(clean->job);
  std::visit([this](const auto& body) { room_.obey(body); }, command.body);
  tell_processes();
}

void InstantPorts::emit(Origin origin, Instant occurred_at, EventBody body) {
  if (!ports_.empty()) ports_.back()->hear({room_.now(), occurred_at, origin, std::move(body)});
}

// What changed of the processes since the tap was told last.
void InstantPorts::tell_processes() {
  if (tap_ == nullptr) return;
  std::vector<WorldProcess> living;
  for (const LivingProcess& p : room_.living()) living.push_back(process_of(p));
  std::sort(living.begin(), living.end(), [](const WorldProcess& a, const WorldProcess& b) {
    return name_of(a) < name_of(b);
  });
  for (const WorldProcess& old : told_)
    if (!std::binary_search(
            living.begin(), living.end(), old, [](const WorldProcess& a, const WorldProcess& b) {
              return name_of(a) < name_of(b);
            }))
      tap_->on_process_ended(now(), old);
  auto known = told_.begin();
  for (const WorldProcess& process : living) {
    while (known != told_.end() && name_of(*known) < name_of(process)) ++known;
    if (known == told_.end() || name_of(*known) != name_of(process))
      tap_->on_process_started(now(), process);
    else if (known->local_rank != process.local_rank || known->generation != process.generation)
      tap_->on_process_moved(now(), process);
  }
  told_ = std::move(living);
}

// --- what the room tells ---

void InstantPorts::on_outside(EventBody body) {
  if (const auto* submitted = std::get_if<JobSubmitted>(&body))
    unanswered_.push_back({submitted->request, submitted->spec});
  emit(Origin::External, room_.now(), std::move(body));
}

void InstantPorts::on_workers(JobId job,
                              std::span<const ModelWorker> workers,
                              WorkerFact fact,
                              std::int32_t exit_code,
                              Instant occurred_at) {
  for (const ModelWorker& worker : workers) {
    const WorkersChanged report{
        job, worker.born, worker.incarnation, fact, worker.birth_rank, 1, exit_code};
    if (fact != WorkerFact::Ready) ended_[job].push_back(report);
    emit(Origin::Reaction, occurred_at, report);
  }
}

void InstantPorts::on_progress(NodeId, ProgressReported progress) {
  emit(Origin::External, room_.now(), std::move(progress));
}

void InstantPorts::on_suspected(NodeId, WorkerSuspected suspicion) {
  emit(Origin::External, room_.now(), suspicion);
}

void InstantPorts::on_sub_master(NodeId, const ModelWorker&, SubMasterSaid said) {
  emit(Origin::Reaction, room_.now(), said);
}

void InstantPorts::on_devices_lost(DevicesLost lost) { emit(Origin::External, room_.now(), lost); }

void InstantPorts::on_devices_back(NodeId node) {
  emit(Origin::External, room_.now(), DevicesLost{node, 0});
}

void InstantPorts::on_node_leaving(NodeLeaving leaving) {
  emit(Origin::External, room_.now(), leaving);
}

void InstantPorts::on_fault(const scenarios::Fault& fault) { faults_.push_back(fault); }

// --- nodes ---

void InstantPorts::on_node_down(NodeId node) {
  down_since_[node.index()] = room_.now();
  watch_.push(room_.now() + scenario_.settings.node_lease, FutureKind::NodeDown, node.value);
}

void InstantPorts::watch_until(Instant now) {
  while (!watch_.empty() && watch_.top().at <= now) {
    const NodeId node{watch_.pop().subject};
    const Instant since = down_since_[node.index()];
    if (since.is_never() || now < since + scenario_.settings.node_lease) continue;
    room_.bury(node);
    emit(Origin::External, since, NodeSilent{node});
  }
}

void InstantPorts::on_node_up(NodeId node) {
  down_since_[node.index()] = Instant::never();
  room_.bury(node);
  emit(Origin::External, room_.now(), NodeReturned{node, room_.complete_list(node)});
}

}  // namespace orrery::sim
