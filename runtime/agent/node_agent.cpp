#include "runtime/agent/node_agent.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/agent/worker_reports.hpp"
#include "core/base/amount_text.hpp"
#include "core/base/invariant.hpp"
#include "core/recovery/failure_notes.hpp"

namespace orrery::runtime {
namespace {

// How often processes without a descriptor are looked at.
constexpr Duration kPollPeriod = Duration::milliseconds(10);

constexpr Duration kCollectPeriod = Duration::seconds(30);
// Entries of folders that go: well within a beat, on a disk that is busy, too.
constexpr int kRemovedInATurn = 64;

// From asking to killing, and between two kills, where workers end with the agent.
constexpr Duration kStopGrace = Duration::seconds(2);

// Sentences about workers that are kept while no controller is there; each has up to 64 KiB.
constexpr std::size_t kNoticesMax = 64;

}  // namespace

Result<std::unique_ptr<NodeAgent>> NodeAgent::make(const AgentConfig& config,
                                                   const AgentHost& host) {
  Result<NodeState> state = NodeState::open(config.state);
  if (!state) return state.errors();
  std::optional<WorkerUser> user;
  if (!config.worker_user.empty()) {
    Result<WorkerUser> found = find_worker_user(config.worker_user);
    if (!found) return found.errors();
    user = std::move(found).value();
  }
  Result<WorkerSocket> socket = WorkerSocket::open(
      state->path("socket"), user ? std::optional<uid_t>(user->user) : std::nullopt);
  if (!socket) return socket.errors();
  std::unique_ptr<NodeAgent> agent(new NodeAgent(
      config, host, std::move(state).value(), std::move(socket).value(), std::move(user)));
  if (!agent->lease_.ok())
    return Error{ErrorCode::Unavailable, {}, 0, agent->state_.path("lease"), "it cannot be mapped"};
  return agent;
}

NodeAgent::NodeAgent(const AgentConfig& config,
                     const AgentHost& host,
                     NodeState state,
                     WorkerSocket socket,
                     std::optional<WorkerUser> user)
    : config_(config),
      host_(host),
      state_(std::move(state)),
      lease_(LeaseFile::for_writing(state_.path("lease"))),
      table_(state_.path("workers"), host.shim_program, host.folders),
      jobs_(state_.path("jobs")),
      starts_(config, state_, host.inventory, jobs_, table_, host.shim_program, std::move(user)),
      socket_(std::move(socket)),
      logs_([this](const WorkerName& worker) { return table_.folder_of(worker); },
            [this](const WorkerName& worker) { return table_.runs(worker); },
            [this](const LogRequest& request) {
              return table_.predecessor_of({request.job, request.incarnation, request.birth_rank},
                                           request.role,
                                           request.local_rank);
            },
            config.log_files),
      connection_(*host.dialer,
                  config.controllers,
                  state_.record().session ^ static_cast<std::uint64_t>(boot_time().ns),
                  host.connection),
      inbox_(std::make_shared<Inbox<Word>>()) {
  starts_.on_token([this](const WorkerToken& token) {
    if (welcomed_) connection_.send(WorkerTokens{{token}});
  });
}

AgentEnd NodeAgent::run(int signals) {
  signals_ = signals;
  if (host_.watch_devices)
    host_.watch_devices([inbox = inbox_](std::uint64_t lost) { inbox->push(DevicesWord{lost}); });
  take_over();
  std::vector<int> readable;
  while (!is_over()) {
    turn(readable);
    if (!is_over()) readable = wait();
  }
  return *end_;
}

/// What an earlier life has left.
void NodeAgent::take_over() {
  const LeaseNote lease = lease_.read();
  fence_.renew(lease.epoch, lease.until);
  const WorkerTable::Found found =
      table_.adopt([&](const WorkerRecord& worker) { return is_ready_at_hello(worker); });
  for (const AgentWorker& worker : found.living)
    say("found worker " + folder_name_of(worker.name) + ", " +
        std::string(to_string(worker.state)));
  if (found.strays > 0)
    say("killed what ran of " + counted(static_cast<std::int64_t>(found.strays), "worker") +
        " without a folder in the state folder");
  for (const WorkerRecord& record : table_.records())
    if (record.has_turn) turns_.adopt(record.name(), record.devices, boot_time());
  jobs_.keep_only([&](JobId job) { return table_.has_job(job); });
  if (state_.record().known) {
    const NodeRecord& record = state_.record();
    agent_.emplace(AgentSettings::of(record.node, record.session, record.settings));
    step(AgentRestarted{lease.epoch, lease.until, found.living, found.ended});
  } else if (!table_.empty()) {
    leave_cluster();
  }
}

void NodeAgent::turn(const std::vector<int>& readable) {
  take_signals();
  take_words();
  take_changes(readable);
  take_starts(readable);
  take_worker_words(readable);
  give_turns();
  take_line();
  send_logs();
  if (agent_ && agent_->next_deadline() <= boot_time()) step(TimePassed{});
  if (leaving_cluster_ && table_.empty()) forget_cluster();
  if (!stopping_ && !leaving_cluster_) connection_.keep(boot_time());
  end_stubborn();
  if (collect_at_ <= boot_time()) {
    table_.collect(wall_clock());
    collect_at_ = boot_time() + kCollectPeriod;
  }
  table_.removals().go_on(kRemovedInATurn);
  jobs_.removals().go_on(kRemovedInATurn);
}

bool NodeAgent::is_over() {
  if (stopping_ && !end_ && (!config_.kill_workers_at_exit || table_.empty()))
    end_ = AgentEnd::Stopped;
  return end_.has_value();
}

void NodeAgent::take_signals() {
  signalfd_siginfo info{};
  while (signals_ >= 0 && read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGUSR1) {
      const Duration notice = host_.notice();
      leaves_at_ = boot_time() + notice;
      if (agent_) say_fact(NodeLeaving{state_.record().node, {}}, notice);
    } else {
      inbox_->push(StopWord{});
    }
  }
}

void NodeAgent::take_words() {
  for (Word& word : inbox_->take()) {
    if (std::holds_alternative<StopWord>(word)) {
      begin_to_stop();
    } else if (const auto* devices = std::get_if<DevicesWord>(&word)) {
      if (devices->lost == lost_devices_) continue;
      lost_devices_ = devices->lost;
      tell_usable();
    } else if (welcomed_) {
      connection_.send(std::get<CheckResult>(word));
    }
  }
}

// A node whose kernel holds a worker gets no more work: neither what the worker holds nor what
// holds the worker is known. Those that run there are left alone.
bool NodeAgent::holds_stuck() const {
  return agent_ && std::ranges::any_of(agent_->workers(),
                                       [](const auto& entry) { return entry.second.stuck; });
}

void NodeAgent::say_stuck(const WorkerName& worker) {
  const std::string sentence =
      "worker " + folder_name_of(worker) +
      " was killed and does not end: the kernel holds it (uninterruptible sleep, as over a hung "
      "disk, network file system or driver); node " +
      config_.node + " gets no more work until it ends; mend what it waits for, or reboot the node";
  say(sentence);
  send_notice({worker, sentence}, true);
}

// What was said of the node's devices holds no longer once a worker is stuck, or the last such has
// gone. Said before the worker is reported lost: its successor must not come here.
void NodeAgent::tell_usable() {
  const std::pair now{lost_devices_, holds_stuck()};
  if (now == std::exchange(told_unusable_, now)) return;
  // Without a cluster nothing needs to be reported; the first registration says it.
  if (!agent_) return;
  const NodeId node = state_.record().node;
  if (now.second)
    say_fact(NodeHeld{node, now.first});
  else
    say_fact(DevicesLost{node, now.first});
}

void NodeAgent::begin_to_stop() {
  if (stopping_) return;
  stopping_ = true;
  if (!config_.kill_workers_at_exit) return;
  table_.signal_all(WorkerSignal::Ask);
  kill_at_ = boot_time() + kStopGrace;
}

void NodeAgent::end_stubborn() {
  if (boot_time() < kill_at_) return;
  table_.signal_all(WorkerSignal::Kill);
  kill_at_ = boot_time() + kStopGrace;
}

/// A job's specification and membership are of use as long as it may have workers here.
void NodeAgent::forget_idle_jobs() {
  std::erase_if(cleaned_jobs_, [&](JobId job) {
    if (table_.has_job(job)) return false;
    jobs_.forget(job);
    return true;
  });
}

std::vector<int> NodeAgent::wait() {
  std::vector<pollfd> polled{{inbox_->descriptor(), POLLIN, 0},
                             {connection_.descriptor(), POLLIN, 0}};
  if (signals_ >= 0) polled.push_back({signals_, POLLIN, 0});
  table_.append_descriptors(polled);
  socket_.append_descriptors(polled);
  starts_.environments().append_descriptors(polled);
  Duration longest = next_deadline() - boot_time();
  if (table_.must_be_polled() || starts_.environments().must_be_polled())
    longest = std::min(longest, kPollPeriod);
  const std::int64_t ns = std::max<std::int64_t>(longest.ns, 0);
  const timespec timeout{static_cast<time_t>(ns / 1'000'000'000),
                         static_cast<long>(ns % 1'000'000'000)};
  std::vector<int> readable;
  if (ppoll(polled.data(), polled.size(), &timeout, nullptr) > 0)
    for (const pollfd& each : polled)
      if (each.revents != 0) readable.push_back(each.fd);
  std::ranges::sort(readable);
  return readable;
}

Instant NodeAgent::next_deadline() const {
  const bool removes = !table_.removals().empty() || !jobs_.removals().empty();
  if (removes || starts_.is_held_up()) return boot_time();
  Instant deadline = std::min({collect_at_,
                               kill_at_,
                               logs_.next_at(),
                               starts_.environments().next_deadline(),
                               turns_.next_deadline()});
  if (!stopping_ && !leaving_cluster_) deadline = std::min(deadline, connection_.next_try());
  if (agent_) deadline = std::min(deadline, agent_->next_deadline());
  return deadline;
}

/// Whether the worker's role says that its program counts as ready once it has said hello.
bool NodeAgent::is_ready_at_hello(const WorkerRecord& worker) const {
  const JobSpec* job = jobs_.spec(worker.job);
  if (job == nullptr || worker.role.index() >= job->roles.size()) return false;
  return std::ranges::any_of(job->roles[worker.role.index()].environment,
                             [](const KeyValue& variable) {
                               return variable.key == kReadyVariable && variable.value == "hello";
                             });
}

void NodeAgent::take_changes(const std::vector<int>& readable) {
  table_.look(readable);
  for (const WorkerRecord& ready : table_.take_ready())
    if (agent_ && ready.said_hello)
      step_without_acting(WorkerReady{ready.name()});
    else if (agent_ && !is_ready_at_hello(ready))
      step_without_acting(WorkerRuns{ready.name(), ready.environment});
  // What a worker said before its end belongs to it, and may not have been looked at yet.
  if (table_.has_ends()) hear_workers(socket_.take_all(secrets()));
  for (const WorkerEnd& end : table_.take_ends()) {
    send_notice(end);
    const WorkerName name = end.record.name();
    waiting_words_.erase(name);
    turns_.release(name);
    turns_lost_.erase(name);
    if (!agent_) continue;
    switch (end.status.kind) {
      case EndKind::Exited:
        // What ends because the node ends is the node's failure, not the worker's.
        if (stopping_)
          step_without_acting(WorkerVanished{name});
        else
          step_without_acting(WorkerExited{name, end.status.exit_code, *end.record.diagnosis});
        break;
      case EndKind::NotStarted:
        step_without_acting(SpawnFailed{name, end.status.exit_code, end.status.reason});
        break;
      case EndKind::Fenced:
      case EndKind::Lost:
        step_without_acting(WorkerVanished{name});
        break;
    }
  }
  if (agent_) carry_out();
  forget_idle_jobs();
}

void NodeAgent::step(const AgentEvent& event) {
  if (!agent_) return;
  step_without_acting(event);
  carry_out();
}

/// The shims hear of a lease before anything is done under it.
void NodeAgent::step_without_acting(const AgentEvent& event) {
  agent_->step(event, boot_time(), out_);
  if (!agent_->holds_lease()) return;
  const Instant before = fence_.lease_until();
  fence_.renew(agent_->epoch(), agent_->lease_until());
  if (fence_.lease_until() != before) lease_.write({fence_.epoch(), fence_.lease_until()});
}

/// First what the core orders, then what it reports, then its complete list.
void NodeAgent::carry_out() {
  run_actions();
  for (const AgentNotice& notice : out_.notices)
    if (notice.note == AgentNote::Fenced)
      say("the lease is over: worker " + folder_name_of(notice.worker) + " is killed");
    else if (notice.note == AgentNote::Stuck)
      say_stuck(notice.worker);
  tell_usable();
  std::vector<WorkersChanged> reports = std::exchange(out_.reports, {});
  pack_reports(reports);
  const std::vector<SubMasterSaid> said = std::exchange(out_.said, {});
  const std::optional<Heartbeat> beat = std::exchange(out_.heartbeat, std::nullopt);
  out_.clear();
  if (welcomed_ && !reports.empty()) connection_.send(Reports{std::move(reports)});
  for (const SubMasterSaid& each : said) say_fact(each);
  // After the registration, by which the controller learns of ends that it has not heard of: what
  // explains no failure that it knows is dropped.
  if (registered_)
    for (WorkerNotice& notice : std::exchange(notices_, {})) {
      connection_.send(notice);
      sent_notices_.push_back({std::move(notice), boot_time()});
      if (sent_notices_.size() > kNoticesMax) sent_notices_.pop_front();
    }
  if (welcomed_ && beat) say_beat(*beat);
}

void NodeAgent::run_actions() {
  // A worker that cannot be started may make room for one that waits.
  while (!out_.actions.empty()) {
    const std::vector<AgentAction> actions = std::exchange(out_.actions, {});
    std::vector<AgentEvent> answers;
    for (const AgentAction& action : actions) {
      if (const auto* order = std::get_if<SpawnWorker>(&action)) act(*order, answers);
      if (const auto* order = std::get_if<SignalWorker>(&action)) act(*order, answers);
      if (const auto* order = std::get_if<TellMembership>(&action)) act(*order);
      if (const auto* order = std::get_if<PassToSubMaster>(&action)) act(*order);
    }
    for (const AgentEvent& answer : answers) step_without_acting(answer);
  }
}

void NodeAgent::act(const SpawnWorker& order, std::vector<AgentEvent>& answers) {
  const std::optional<FailedStart> failed =
      stopping_ ? FailedStart{order.worker, "its node is about to end"} : starts_.begin(order);
  for (const FailedStart& warning : starts_.take_warnings()) send_notice(warning, true);
  if (!failed) return;
  send_notice(*failed);
  answers.emplace_back(
      SpawnFailed{order.worker, failed->exit_code, failed->reason, failed->busy_port});
}

void NodeAgent::act(const SignalWorker& order, std::vector<AgentEvent>& answers) {
  if (starts_.drop(order.worker)) {
    answers.emplace_back(WorkerVanished{order.worker});
    return;
  }
  table_.signal(order);
  if (order.signal == WorkerSignal::Kill && table_.is_stuck(order.worker))
    answers.emplace_back(WorkerStuck{order.worker});
}

void NodeAgent::take_starts(const std::vector<int>& readable) {
  for (const FailedStart& failed : starts_.go_on(readable, boot_time())) {
    send_notice(failed);
    step(SpawnFailed{failed.worker, failed.exit_code, failed.reason, failed.busy_port});
  }
  for (const FailedStart& warning : starts_.take_warnings()) send_notice(warning, true);
}

bool NodeAgent::was_told_to_end(const WorkerName& worker) const {
  if (stopping_ || !agent_) return true;
  const auto known = agent_->workers().find(worker);
  return known != agent_->workers().end() && (known->second.state == AgentWorkerState::Asked ||
                                              known->second.state == AgentWorkerState::Killed);
}

bool NodeAgent::was_fenced(const WorkerName& worker) const {
  if (!agent_) return false;
  const auto known = agent_->workers().find(worker);
  return known != agent_->workers().end() && known->second.fenced;
}

void NodeAgent::send_notice(const WorkerEnd& end) {
  const WorkerName name = end.record.name();
  // To its shim it was killed by the agent like any other.
  const bool fenced = end.status.kind == EndKind::Exited && was_fenced(name);
  const bool failed = end.status.kind != EndKind::Exited || end.status.exit_code != 0;
  if (!failed || (end.status.kind == EndKind::Exited && was_told_to_end(name) && !fenced)) return;
  WorkerNotice notice{
      end.record.job, end.record.incarnation, end.record.birth_rank, end.status.reason, {}, true};
  if (fenced) notice.sentence = "the lease of its node ran out, so it was killed there";
  if (turns_lost_.contains(name))
    notice.sentence =
        "it had the turn on its devices and was silent for longer than its lease, so it was killed";
  if (notice.sentence.empty())
    notice.sentence = std::string(kPlainEnd) + " with " + std::to_string(end.status.exit_code);
  // What it wrote has no part in it.
  if (!fenced)
    notice.log_tail = read_file(table_.folder_of(name) + "/tail", kLogTailBytes).value_or("");
  say("worker " + folder_name_of(name) + ": " + notice.sentence);
  tell_later(std::move(notice));
}

void NodeAgent::send_notice(const FailedStart& failed, bool is_warning) {
  say("worker " + folder_name_of(failed.worker) + ": " + failed.reason);
  tell_later({failed.worker.job,
              failed.worker.incarnation,
              failed.worker.birth_rank,
              failed.reason,
              {},
              !is_warning});
}

/// Keeps it until the controller has heard the report that it explains, also while there is none.
void NodeAgent::tell_later(WorkerNotice notice) {
  notices_.push_back(std::move(notice));
  if (notices_.size() > kNoticesMax) notices_.pop_front();
}

int run_agent(const AgentConfig& config, const AgentHost& host) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGPIPE}) sigaddset(&handled, number);
  pthread_sigmask(SIG_BLOCK, &handled, nullptr);
  const Descriptor signals(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  Result<std::unique_ptr<NodeAgent>> agent = NodeAgent::make(config, host);
  if (!agent) {
    if (host.say)
      for (const Error& error : agent.errors()) host.say(error.text());
    return 2;
  }
  return agent.value()->run(signals.get()) == AgentEnd::Stopped ? 0 : 1;
}

}  // namespace orrery::runtime
