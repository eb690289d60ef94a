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
  hear_workers(socket_.take(readable, secrets()));
}

WorkerSocket::SecretOf NodeAgent::secrets() const {
  return [this](const WorkerName& name) { return table_.token_of(name); };
}

void NodeAgent::hear_workers(const std::vector<WorkerWord>& words) {
  for (const WorkerWord& said : words)
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

void NodeAgent::said_by(const WorkerName& worker, const SaidEndpoint& word) {
  const WorkerRecord* record = table_.takes_calls(worker, word.port, word.certificate);
  if (record != nullptr && welcomed_) connection_.send(WorkerTokens{{token_of(*record)}});
}

void NodeAgent::said_by(const WorkerName& worker, const SaidTurn& word) {
  const WorkerRecord* record = table_.record(worker);
  if (record == nullptr) return;
  switch (word.word) {
    case TurnWord::Ask:
      if (record->devices == 0)
        return socket_.complain(worker, "turn: this worker has no devices to take turns on");
      turns_.ask(worker, record->devices, word.lease, boot_time());
      if (turns_.has_turn(worker)) tell_turn(worker);
      break;
    case TurnWord::Renew:
      if (!turns_.renew(worker, boot_time()))
        socket_.complain(worker, "turn: this worker does not have the turn; ask for it first");
      break;
    case TurnWord::Release:
      turns_.release(worker);
      table_.has_turn(worker, false);
      break;
  }
}

void NodeAgent::said_by(const WorkerName& worker, const SaidDiagnosis& word) {
  const JobSpec* job = jobs_.spec(worker.job);
  Diagnosis diagnosis{word.fault, RoleIndex::none(), word.rank, word.message};
  if (word.fault == Blame::Peer && job != nullptr) {
    std::string roles;
    for (std::size_t r = 0; r < job->roles.size(); ++r) {
      if (job->roles[r].name == word.role)
        diagnosis.role = RoleIndex{static_cast<std::uint16_t>(r)};
      if (job->roles[r].master_of.is_none())
        roles += (roles.empty() ? "" : ", ") + job->roles[r].name;
    }
    if (diagnosis.role.is_none())
      return socket_.complain(
          worker, "diagnosis: its job has no role " + word.role + "; needed one of " + roles);
  }
  table_.diagnosed(worker, diagnosis);
}

/// Grants what can be granted, and ends what has let its lease pass.
void NodeAgent::give_turns() {
  for (const WorkerName& worker : turns_.take_overdue(boot_time())) {
    const std::string sentence =
        "worker " + folder_name_of(worker) +
        " had the turn on its devices and was silent for longer than its lease: it is killed, so "
        "that the next may have them; let it renew the turn, or ask for a longer lease_s";
    say(sentence);
    send_notice({worker, sentence}, true);
    turns_lost_.insert(worker);
    table_.signal({worker, WorkerSignal::Kill});
  }
  for (const WorkerName& worker : turns_.take_granted(boot_time())) {
    table_.has_turn(worker, true);  // Before it is told: the next life must know.
    if (tell_turn(worker)) continue;
    turns_.release(worker);
    table_.has_turn(worker, false);
  }
}

bool NodeAgent::tell_turn(const WorkerName& worker) {
  return socket_.send(worker, R"({"turn":{"word":"granted"}})");
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
  for (const LogChunk& chunk : logs_.take(boot_time(), connection_.bytes_waiting()))
    connection_.send(chunk);
}

}  // namespace orrery::runtime
