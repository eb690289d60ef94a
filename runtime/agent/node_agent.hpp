// The agent of a node as a program: the core's Agent with hands and ears.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/agent/shim_fence.hpp"
#include "runtime/agent/controller_connection.hpp"
#include "runtime/agent/device_turns.hpp"
#include "runtime/agent/inbox.hpp"
#include "runtime/agent/known_jobs.hpp"
#include "runtime/agent/log_sender.hpp"
#include "runtime/agent/node_state.hpp"
#include "runtime/agent/worker_socket.hpp"
#include "runtime/agent/worker_starts.hpp"
#include "runtime/agent/worker_table.hpp"
#include "runtime/config/config.hpp"
#include "runtime/link/link.hpp"
#include "runtime/shim/lease_file.hpp"

namespace orrery::runtime {

/// What an agent needs from the program around it.
struct AgentHost {
  LinkDialer* dialer = nullptr;  ///< Outlives the agent.
  Inventory inventory;
  std::string shim_program;  ///< Absolute path of orrery-shim.
  std::string version;       ///< Of the program, for people.

  /// Called once, with a function that any thread may call whenever the devices that do not work
  /// have changed (bit i: device i). May be empty.
  std::function<void(std::function<void(std::uint64_t lost)>)> watch_devices;

  /// Carries a node check out on a thread of its own and answers by the function, from any thread.
  /// May be empty: checks are refused then.
  std::function<void(const CheckRequest&, std::function<void(CheckResult)>)> check;

  /// Takes sentences for the operator of the agent. May be empty.
  std::function<void(const std::string&)> say;

  /// From a preemption notice (SIGUSR1) to the end that it announces.
  std::function<Duration()> notice = [] { return Duration::seconds(30); };

  ConnectionTimes connection;
  FolderLimits folders;
};

/// How an agent's run ended.
enum class AgentEnd : std::uint8_t {
  Stopped,     ///< It was asked to. Workers run on, or with `kill_workers_at_exit` none is left.
  NotWelcome,  ///< Refused for good before it ever had a worker.
};

/// One life of a node's agent, on one thread: shims, timers, signals and the line to the controller
/// meet in one poll. Its end, however it comes, ends no worker: shims keep them until the lease is
/// over, and the next life takes them over.
class NodeAgent {
 public:
  /// `config` and `host` outlive this. Errors: the state folder is another agent's or cannot be
  /// written.
  static Result<std::unique_ptr<NodeAgent>> make(const AgentConfig& config, const AgentHost& host);

  /// Lives until it is stopped. `signals`: a signalfd of SIGTERM, SIGINT (stop) and SIGUSR1 (the
  /// node goes away soon); -1: none.
  AgentEnd run(int signals);

  /// From any thread: as SIGTERM.
  void stop() { inbox_->push(StopWord{}); }

 private:
  struct StopWord {};

  struct DevicesWord {
    std::uint64_t lost = 0;
  };

  using Word = std::variant<StopWord, DevicesWord, CheckResult>;

  struct WaitingFact {
    Fact fact;
    Instant at;
  };

  struct SentNotice {
    WorkerNotice notice;
    Instant at;
  };

  NodeAgent(const AgentConfig& config,
            const AgentHost& host,
            NodeState state,
            WorkerSocket socket,
            std::optional<WorkerUser> user);

  // Life.
  void take_over();
  void turn(const std::vector<int>& readable);
  void take_signals();
  void take_words();
  bool holds_stuck() const;
  void say_stuck(const WorkerName& worker);
  void tell_usable();
  void begin_to_stop();
  void end_stubborn();
  void forget_idle_jobs();
  std::vector<int> wait();
  Instant next_deadline() const;
  bool is_over();

  // The core.
  void step(const AgentEvent& event);
  void step_without_acting(const AgentEvent& event);
  void carry_out();
  void run_actions();
  void act(const SpawnWorker& order, std::vector<AgentEvent>& answers);
  void act(const SignalWorker& order, std::vector<AgentEvent>& answers);
  void act(const TellMembership& order);
  void act(const PassToSubMaster& order);
  void take_changes(const std::vector<int>& readable);
  bool is_ready_at_hello(const WorkerRecord& worker) const;
  void take_starts(const std::vector<int>& readable);
  bool was_told_to_end(const WorkerName& worker) const;
  bool was_fenced(const WorkerName& worker) const;
  void send_notice(const WorkerEnd& end);
  void send_notice(const FailedStart& failed, bool is_warning = false);
  void tell_later(WorkerNotice notice);

  // The workers.
  void take_worker_words(const std::vector<int>& readable);
  WorkerSocket::SecretOf secrets() const;
  void hear_workers(const std::vector<WorkerWord>& words);
  void said_by(const WorkerName& worker, const SaidHello& word);
  void said_by(const WorkerName& worker, const SaidProfiling& word);
  void said_by(const WorkerName& worker, const SaidProgress& word);
  void said_by(const WorkerName& worker, const SaidBySubMaster& word);
  void said_by(const WorkerName& worker, const SaidEndpoint& word);
  void said_by(const WorkerName& worker, const SaidTurn& word);
  void said_by(const WorkerName& worker, const SaidDiagnosis& word);
  void give_turns();
  bool tell_turn(const WorkerName& worker);
  void tell_membership(const WorkerName& worker);
  void send_logs();

  // The controller.
  void take_line();
  void say_hello();
  void say_beat(const Heartbeat& heartbeat);
  void say_fact(EventBody body, Duration leaves_in = Duration::forever());
  void send_facts();
  void send_tokens();
  static WorkerToken token_of(const WorkerRecord& record);
  void hear(const ControllerMessage& message);
  void heard(const Welcome& welcome);
  void heard(const Refusal& refusal);

  void heard(const JobKnown& job) { jobs_.learn(job); }

  void heard(const Members& members) { jobs_.learn(members); }

  void heard(const Order& order);

  void heard(const Renewal& renewal);

  void heard(const Announcement& announced) { step(EpochAnnounced{announced.epoch}); }

  void heard(const LogRequest& request);
  void heard(const CheckRequest& request);
  void leave_cluster();
  void forget_cluster();
  void begin_life(const Welcome& welcome);
  void begin_session(std::uint64_t above = 0);
  void cannot_be_kept(const Status& why);

  void say(const std::string& sentence) const {
    if (host_.say) host_.say(sentence);
  }

  const AgentConfig& config_;
  const AgentHost& host_;
  NodeState state_;
  LeaseFile lease_;
  ShimFence fence_;  ///< What the lease file says.
  WorkerTable table_;
  KnownJobs jobs_;
  WorkerStarts starts_;
  WorkerSocket socket_;
  LogSender logs_;
  ControllerConnection connection_;
  std::shared_ptr<Inbox<Word>> inbox_;  ///< Shared with callbacks that may come after our end.
  int signals_ = -1;

  std::optional<Agent> agent_;  ///< Nothing before the first welcome of this node.
  AgentOutput out_;
  bool hello_said_ = false;       ///< On the present stream.
  std::set<std::string> whys_;    ///< Why there was no connection since there was one; told.
  bool welcomed_ = false;         ///< On the present stream.
  bool registered_ = false;       ///< Likewise: a beat was answered.
  bool leaving_cluster_ = false;  ///< What is left of an earlier cluster is being killed.
  bool stopping_ = false;
  Instant kill_at_ =
      Instant::never();  ///< Stopping: when workers that were asked to stop are killed.
  std::optional<AgentEnd> end_;
  std::deque<WaitingFact> facts_;        ///< Not told yet, bounded.
  std::deque<WorkerNotice> notices_;     ///< Likewise; told after the reports that they explain.
  std::deque<SentNotice> sent_notices_;  ///< On the present stream; perhaps not heard.
  std::map<std::tuple<JobId, Generation, Rank>, std::map<std::string, double>> measured_;
  std::map<WorkerName, std::deque<std::string>> waiting_words_;  ///< Until it has said hello.
  DeviceTurns turns_;
  std::set<WorkerName> turns_lost_;  ///< Killed for having let their turn pass; until they end.
  std::uint64_t lost_devices_ = 0;
  /// As was said last: the devices that do not work, and whether a worker is stuck.
  std::pair<std::uint64_t, bool> told_unusable_{0, false};
  std::optional<Instant> leaves_at_;
  std::set<JobId> cleaned_jobs_;  ///< Those that are over but have workers left.
  Instant collect_at_;
};

/// Runs an agent until SIGTERM or SIGINT; SIGUSR1 announces that the node goes away. Blocks these
/// signals in the calling thread, so it must be called before other threads are made. Returns the
/// program's exit status: 0 stopped, 2 the state folder cannot be used (told through `say`), 1
/// refused for good.
int run_agent(const AgentConfig& config, const AgentHost& host);

}  // namespace orrery::runtime
