// What the agent and its workers say to each other.
#include <cmath>

#include "core/base/json_text.hpp"
#include "runtime/agent/membership_text.hpp"
#include "runtime/agent/node_agent.hpp"

namespace orrery::runtime {
namespace {

// Words for a sub-master that has not said hello yet; older ones go.
constexpr std::size_t kWaitingWordsMax = 16;

// Keys that one worker may report between two beats.
constexpr std::size_t kMeasuredMax = 256;

}  // namespace

void NodeAgent::take_worker_words(const std::vector<int>& readable) {
  for (const WorkerWord& said :
       socket_.take(readable, [this](const WorkerName& name) { return table_.token_of(name); }))
    std::visit([&](const auto& word) { said_by(said.worker, word); }, said.word);
}

void NodeAgent::said_by(const WorkerName& worker, const SaidHello&) {
  // Before it is told of the membership: what the controller decides next counts on its hearing.
  if (table_.said_hello(worker)) step(WorkerReady{worker});
  tell_membership(worker);
  const auto waiting = waiting_words_.find(worker);
  if (waiting == waiting_words_.end()) return;
  for (const std::string& line : waiting->second) socket_.send(worker, line);
  waiting_words_.erase(waiting);
}

void NodeAgent::said_by(const WorkerName& worker, const SaidProfiling& word) {
  const WorkerRecord* record = table_.record(worker);
  auto& values = measured_[{record->job, record->generation, record->rank}];
  for (const auto& [key, value] : word.values)
    if (values.size() < kMeasuredMax || values.contains(key)) values[key] = value;
}

void NodeAgent::said_by(const WorkerName& worker, const SaidProgress& word) {
  const WorkerRecord* record = table_.record(worker);
  ProgressReported progress;
  progress.job = record->job;
  progress.generation = record->generation;
  progress.done = word.done;
  progress.rate = word.rate;
  progress.efficiency = word.efficiency;
  progress.epoch = word.epoch;
  if (word.remaining_s) {
    progress.remaining = Duration::from_seconds(std::max(*word.remaining_s, 0.0));
    progress.source = EstimateSource::Measured;
  }
  progress.checkpointed = word.checkpointed;
  say_fact(progress);
}

void NodeAgent::said_by(const WorkerName& worker, const SaidBySubMaster& word) {
  const WorkerRecord* record = table_.record(worker);
  const JobSpec* job = jobs_.spec(worker.job);
  if (job == nullptr || record->role.index() >= job->roles.size()) return;
  const RoleIndex led = job->roles[record->role.index()].master_of;
  if (led.is_none() || led.index() >= job->roles.size() ||
      job->roles[led.index()].name != word.role)
    return socket_.complain(worker, "sub_master: this worker does not lead role " + word.role);
  step(SubMasterSpoke{worker, led, word.incident, word.word});
}

void NodeAgent::act(const PassToSubMaster& order) {
  const JobSpec* job = jobs_.spec(order.worker.job);
  if (job == nullptr || order.role.index() >= job->roles.size()) return;
  JsonText json;
  json.begin_object().key("sub_master").begin_object();
  json.field("role", job->roles[order.role.index()].name);
  json.field("incident", order.incident).field("word", to_string(order.word));
  json.end_object().end_object();
  if (socket_.send(order.worker, json.text())) return;
  std::deque<std::string>& waiting = waiting_words_[order.worker];
  waiting.push_back(json.take());
  if (waiting.size() > kWaitingWordsMax) waiting.pop_front();
}

void NodeAgent::act(const TellMembership& order) {
  const auto known = agent_->workers().find(order.worker);
  if (known == agent_->workers().end()) return;
  starts_.retell(order);
  table_.told(order, known->second.slot);
  tell_membership(order.worker);
}

void NodeAgent::tell_membership(const WorkerName& worker) {
  const WorkerRecord* record = table_.record(worker);
  const JobSpec* job = jobs_.spec(worker.job);
  const Members* members = jobs_.members(worker.job);
  if (record == nullptr || job == nullptr || members == nullptr) return;
  const std::string text = membership_text(*record, *job, *members);
  replace_file(table_.folder_of(worker) + "/membership.json", text + "\n", Survives::Kill, 0644);
  socket_.send(worker, text);
}

void NodeAgent::heard(const LogRequest& request) { logs_.request(request, boot_time()); }

void NodeAgent::send_logs() {
  for (const LogChunk& chunk : logs_.take(boot_time())) connection_.send(chunk);
}

}  // namespace orrery::runtime
