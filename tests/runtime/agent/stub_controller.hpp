// A controller that does as the test says, and an agent as a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/link/link.hpp"
#include "tests/runtime/shim/worker_folder.hpp"
#include "tests/support/own_ports.hpp"

namespace orrery::runtime {

/// Welcomes the node, answers its beats and keeps all that it says. Any thread may call.
class StubController final : public LinkListener {
 public:
  explicit StubController(const std::string& address) {
    settings_.cluster = 11;
    settings_.node_lease = Duration::seconds(30);
    settings_.fence_margin = Duration::seconds(5);
    Result<std::unique_ptr<LinkServer>> server = serve_links(address, {}, {}, *this);
    if (!server) ADD_FAILURE() << server.errors()[0].text();
    server_ = std::move(server).value();
  }

  ~StubController() override {
    set([](StubController& c) { c.closing_ = true; });
    server_.reset();
  }

  /// What is changed under the lock; the server's threads look at it.
  void set(const std::function<void(StubController&)>& change) {
    const std::lock_guard lock(mutex_);
    change(*this);
    changed_.notify_all();
  }

  // All below: under the lock, or before an agent is there.
  Settings settings_;
  Epoch epoch_{1};
  NodeId node_{0};
  /// Of the first worker that the last `start_job` asked for; the others have the next ones.
  std::int32_t first_port_ = 0;
  std::uint64_t devices_ = 0;  ///< Of each worker that `start_job` asks for.
  bool renews_ = true;
  std::string url_ = "http://127.0.0.1:1";
  std::string refusal_;              ///< Not empty: every agent is refused.
  std::string leader_;               ///< Told with the refusal.
  std::uint64_t session_above_ = 0;  ///< Sessions up to this are refused for it.
  std::vector<Hello> hellos_;
  std::vector<Beat> beats_;
  std::vector<WorkersChanged> reports_;
  std::vector<Fact> facts_;
  std::vector<WorkerNotice> notices_;
  std::size_t early_notices_ = 0;  ///< Before any beat.
  std::vector<WorkerToken> tokens_;
  std::map<std::uint64_t, std::string> logs_;  ///< By request.
  std::map<std::uint64_t, std::string> log_ends_;
  int closed_ = 0;

  void on_open(LinkId, const Peer&) override {}

  void on_closed(LinkId link, const std::string&) override {
    const std::lock_guard lock(mutex_);
    ++closed_;
    if (link == link_) welcomed_ = false;
    changed_.notify_all();
  }

  void on_messages(LinkId link, std::vector<AgentMessage> messages) override {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    for (AgentMessage& message : messages)
      std::visit([&](auto& body) { take(link, body); }, message);
    changed_.notify_all();
  }

  /// To the agent.
  void send(const ControllerMessage& message) {
    const std::lock_guard lock(mutex_);
    server_->send(link_, message);
  }

  void order(CommandBody body) {
    const std::lock_guard lock(mutex_);
    ++sequence_.value;
    server_->send(link_, Order{sequence_, 0, epoch_, std::move(body)});
  }

  /// A job of one role whose workers are all on the node; `copies` of them start.
  void start_job(JobId id, const RoleSpec& role, std::uint32_t copies, Incarnation incarnation) {
    JobSpec spec;
    spec.name = "default.job" + std::to_string(id.value);
    spec.roles = {role};
    start_job(id, spec, copies, incarnation);
  }

  void start_job(JobId id, const JobSpec& spec, std::uint32_t copies, Incarnation incarnation) {
    send(JobKnown{id, std::make_shared<const JobSpec>(spec)});
    Members members{id, Generation{incarnation.value}, {}, {{node_, "n0", "127.0.0.1"}}};
    first_port_ = OwnPorts::of_process().next(static_cast<std::int32_t>(copies));
    for (std::uint32_t i = 0; i < copies; ++i) {
      WorkerStart start;
      start.rank = start.birth_rank = Rank{i};
      start.role = RoleIndex{static_cast<std::uint16_t>(i % spec.roles.size())};
      start.local_rank = static_cast<std::int32_t>(i / spec.roles.size());
      start.node = node_;
      start.incarnation = incarnation;
      start.devices = devices_;
      start.first_port = first_port_ + static_cast<std::int32_t>(i);
      members.workers.push_back(start);
    }
    send(members);
    order(StartWorkers{id, members.generation, copies, members.workers});
  }

  /// Waits until a condition over what was said holds, at most half a minute.
  bool until(const std::function<bool(const StubController&)>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return holds(*this); });
  }

  /// Until the agent may start workers.
  bool until_welcomed() {
    return until([](const StubController& c) { return c.welcomed_; });
  }

  /// Ready: up, whether it has said hello or not.
  bool until_report(JobId job, WorkerFact fact, std::size_t times = 1) {
    return until([&](const StubController& c) {
      std::size_t found = 0;
      for (const WorkersChanged& each : c.reports_)
        if (each.job == job && (each.fact == fact || (is_up(each.fact) && is_up(fact))))
          found += each.count;
      return found >= times;
    });
  }

  /// The exit code of the last report of an exit; -1 where there is none.
  int exit_code_of(JobId job) {
    const std::lock_guard lock(mutex_);
    int code = -1;
    for (const WorkersChanged& each : reports_)
      if (each.job == job && each.fact == WorkerFact::Exited) code = each.exit_code;
    return code;
  }

 private:
  void take(LinkId link, const Hello& hello) {
    hellos_.push_back(hello);
    if (!refusal_.empty()) return server_->send(link, Refusal{refusal_, true, leader_, 0});
    if (hello.session <= session_above_)
      return server_->send(link, Refusal{"a later one was here", true, {}, session_above_});
    link_ = link;
    welcomed_ = false;
    server_->send(link, Welcome{epoch_, node_, settings_, url_});
  }

  void take(LinkId link, const Beat& beat) {
    beats_.push_back(beat);
    if (beat.epoch < epoch_) return server_->send(link, Announcement{epoch_});
    if (!renews_) return;
    server_->send(link, Renewal{epoch_, beat.sent_at});
    if (link == link_) welcomed_ = true;
  }

  void take(LinkId, const Reports& reports) {
    reports_.insert(reports_.end(), reports.changes.begin(), reports.changes.end());
  }

  void take(LinkId, const Fact& fact) { facts_.push_back(fact); }

  void take(LinkId, const WorkerNotice& notice) {
    notices_.push_back(notice);
    if (beats_.empty()) ++early_notices_;
  }

  void take(LinkId, const LogChunk& chunk) {
    logs_[chunk.request] += chunk.data;
    if (chunk.last) log_ends_[chunk.request] = chunk.error;
  }

  void take(LinkId, const CheckResult&) {}

  void take(LinkId, const WorkerTokens& told) {
    tokens_.insert(tokens_.end(), told.tokens.begin(), told.tokens.end());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  LinkId link_;
  bool welcomed_ = false;  ///< The agent of `link_`, and its first beat is answered.
  bool closing_ = false;
  Sequence sequence_;
  std::unique_ptr<LinkServer> server_;
};

/// An agent in a process of its own. What runs from its state folder ends with this object.
class AgentProcess {
 public:
  AgentProcess(std::string state, std::string controllers)
      : state_(std::move(state)), controllers_(std::move(controllers)) {}

  ~AgentProcess() {
    kill(SIGKILL);
    kill_shims();
  }

  std::vector<std::string> options;

  void start() {
    std::vector<std::string> words{ORRERY_AGENT_PROGRAM, state_, controllers_, ORRERY_SHIM_PROGRAM};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ASSERT_EQ(posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
  }

  pid_t pid() const { return pid_; }

  void signal(int number) const { ::kill(pid_, number); }

  /// Sends a signal that ends it, and waits for the end. Returns the exit status, or -1.
  int kill(int number) {
    if (pid_ <= 0) return -1;
    signal(number);
    if (number == SIGKILL) signal(SIGCONT);
    return wait_end();
  }

  int wait_end() {
    int how = 0;
    waitpid(std::exchange(pid_, -1), &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  }

  std::string folder_of(const std::string& worker) const { return state_ + "/workers/" + worker; }

  WorkerProcesses processes(const std::string& worker) const {
    const std::string path = folder_of(worker) + "/pid";
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path); })) << path;
    return restored<WorkerProcesses>(text_of_file(path)).value_or(WorkerProcesses{});
  }

  /// Those of workers and of what prepares their environments.
  void kill_shims() const {
    for (const char* kind : {"/workers", "/preparing"}) {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(state_ + kind, ignored)) {
        const auto found = restored<WorkerProcesses>(text_of_file(entry.path().string() + "/pid"));
        if (found && is_alive(found->shim)) send_signal(found->shim, SIGKILL);
      }
    }
  }

 private:
  std::string state_;
  std::string controllers_;
  pid_t pid_ = -1;
};

/// A role that runs a script of the shell.
inline RoleSpec role_of(const std::string& script) {
  RoleSpec role;
  role.name = "main";
  role.command = {"/bin/sh", "-c", script};
  return role;
}

/// One controller and one agent.
class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override { agent_.start(); }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  Scratch scratch_{"agent"};
  StubController controller_{"unix:" + path("link")};
  AgentProcess agent_{path("state"), "unix:" + path("link")};
};

}  // namespace orrery::runtime
