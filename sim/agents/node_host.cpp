#include "sim/agents/node_host.hpp"

#include "core/record/codec.hpp"

namespace orrery::sim {

namespace {

constexpr std::int64_t kMillion = 1'000'000;

// In two parts, so that nothing overflows.
constexpr std::int64_t millionths(std::int64_t value, std::int64_t parts, std::int64_t of) {
  return value / of * parts + value % of * parts / of;
}

}  // namespace

Instant NodeHost::own_time(Instant world) const {
  return world + ahead_ + Duration{millionths(world.ns, rate_ppm_, kMillion)};
}

Instant NodeHost::world_time(Instant own) const {
  if (own.is_never() || rate_ppm_ == 0) return own.is_never() ? own : own - ahead_;
  const Instant gained = own - ahead_;
  Instant world = gained - Duration{millionths(gained.ns, rate_ppm_, kMillion + rate_ppm_)};
  while (own_time(world) < own) world = world + Duration{1};
  while (own_time(world - Duration{1}) >= own) world = world - Duration{1};
  return world;
}

void NodeHost::boot() {
  up_ = true;
  agent_.emplace(AgentSettings::of(node_, ++session_, settings_));
  fence_ = ShimFence{};
}

void NodeHost::die() {
  up_ = false;
  agent_.reset();
  processes_.clear();
  ended_.clear();
  doomed_.clear();
  out_.clear();
}

void NodeHost::agent_returns(Instant now) {
  agent_.emplace(AgentSettings::of(node_, ++session_, settings_));
  out_.clear();
  AgentRestarted found{fence_.epoch(), fence_.lease_until(), {}, {}};
  for (const auto& [name, worker] : processes_) found.living.push_back(worker);
  for (const auto& [name, ended] : ended_) found.ended.push_back(ended);
  step(found, now);
}

void NodeHost::step(const AgentEvent& event, Instant now) {
  ++steps_;
  agent_->step(event, own_time(now), out_);
  if (agent_->holds_lease()) fence_.renew(agent_->epoch(), agent_->lease_until());
}

Instant NodeHost::next_wake() const {
  if (agent_) return world_time(agent_->next_deadline());
  return processes_.size() == doomed_.size() ? Instant::never() : lease_until();
}

// An agent that lives sees to its lease itself.
bool NodeHost::shims_must_kill(Instant now) const {
  return up_ && !agent_ && processes_.size() > doomed_.size() && fence_.must_kill(own_time(now));
}

void NodeHost::spawned(const SpawnWorker& order) {
  AgentWorker& worker = processes_[order.worker];
  worker.name = order.worker;
  worker.slot = order.slot;
  worker.born = order.born;
  worker.generation = order.generation;
  worker.rank = order.rank;
  worker.world_size = order.world_size;
  worker.devices = order.devices;
  worker.share = order.share;
  worker.hardware = order.hardware;
  worker.first_port = order.first_port;
  worker.beside = order.beside;
  // The end of an older start of the slot is of no use any more.
  std::erase_if(ended_, [&](const auto& entry) {
    return entry.first.job == order.worker.job && entry.second.slot == order.slot;
  });
}

void NodeHost::told(const TellMembership& order) {
  const auto found = processes_.find(order.worker);
  if (found == processes_.end()) return;
  found->second.generation = order.generation;
  found->second.rank = order.rank;
  found->second.world_size = order.world_size;
  if (!agent_) return;
  // The agent knows the new slot too.
  const auto known = agent_->workers().find(order.worker);
  if (known != agent_->workers().end()) found->second.slot = known->second.slot;
}

void NodeHost::became_ready(const WorkerName& name, Generation environment) {
  const auto found = processes_.find(name);
  if (found == processes_.end()) return;
  found->second.state = AgentWorkerState::Ready;
  found->second.environment = environment;
}

std::optional<AgentWorker> NodeHost::ended(const WorkerName& name,
                                           WorkerFact fact,
                                           std::int32_t exit_code,
                                           bool by_fence,
                                           const Diagnosis& diagnosis) {
  const auto found = processes_.find(name);
  if (found == processes_.end()) return std::nullopt;
  const AgentWorker worker = found->second;
  processes_.erase(found);
  doomed_.erase(name);
  ended_[name] = {name,
                  worker.slot,
                  worker.born,
                  worker.generation,
                  worker.rank,
                  by_fence ? WorkerFact::Lost : fact,
                  exit_code};
  if (diagnosis.blame != Blame::None && !by_fence) ended_[name].diagnosis = diagnosis;
  return worker;
}

void NodeHost::cleaned(JobId job) {
  std::erase_if(ended_, [&](const auto& entry) { return entry.first.job == job; });
}

WorldProcess NodeHost::truth_of(const AgentWorker& worker) const {
  return {worker.name.job,
          worker.name.incarnation,
          worker.name.birth_rank,
          worker.born,
          worker.generation,
          worker.rank,
          worker.slot.role,
          worker.slot.local_rank,
          node_,
          worker.devices,
          worker.share,
          worker.beside};
}

void NodeHost::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(up_);
  encoder.put(session_);
  encoder.put(agent_.has_value());
  if (agent_) agent_->save(out);
  encoder.put(fence_.epoch());
  encoder.put(fence_.lease_until());
  out.varint(processes_.size());
  for (const auto& [name, process] : processes_) encoder.put(process);
  out.varint(ended_.size());
  for (const auto& [name, ended] : ended_) encoder.put(ended);
  out.varint(doomed_.size());
  for (const WorkerName& name : doomed_) encoder.put(name);
}

}  // namespace orrery::sim
