// The controller process: campaigns for leadership, leads a term, serves requests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "runtime/config/config.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/controller/event_lines.hpp"
#include "runtime/controller/leader_term.hpp"
#include "runtime/controller/task_queue.hpp"
#include "runtime/election/election.hpp"
#include "runtime/link/link.hpp"

namespace orrery::runtime {

/// What a controller is made of, chosen by the program that starts it.
struct ControllerParts {
  ControllerConfig config;
  /// Listens for agents; the listener outlives the server.
  std::function<Result<std::unique_ptr<LinkServer>>(LinkListener&)> listen;
  /// Makes the election; `lost` is for it to call.
  std::function<std::unique_ptr<Election>(Election::Lost lost)> election;
  /// Opens the store for the winner of this leadership.
  std::function<Result<std::unique_ptr<StateStore>>(const Leadership&)> open_store;
  /// A fresh policy for each term.
  std::function<std::unique_ptr<Policy>()> policy;
  /// Makes the planner of a term; the policy is that of `policy` above and outlives it, `wake` may
  /// be called on any thread. Null: the policy runs on the core thread.
  std::function<std::unique_ptr<Planner>(Policy& policy, std::function<void()> wake)> planner;
  /// Replaces nodes; null: none can be. `description`: see RelaunchRunner. `done` may be called on
  /// any thread.
  std::function<void(std::vector<std::string> nodes,
                     std::string description,
                     Duration timeout,
                     std::function<void(std::vector<std::string>, std::string)> done)>
      relaunch;
  /// Takes sentences for the operator, on the core thread; may be null.
  std::function<void(const std::string&)> say;
};

/// Campaigns, leads a term, and campaigns again. One thread of its own decides everything; gRPC and
/// HTTP threads only leave tasks in its inbox.
class ControllerDaemon final : public ControlApi, private LinkListener {
 public:
  /// Listens for agents and begins to campaign. Errors: the address, the files of TLS.
  static Result<std::unique_ptr<ControllerDaemon>> start(ControllerParts parts);

  ControllerDaemon(const ControllerDaemon&) = delete;
  ControllerDaemon& operator=(const ControllerDaemon&) = delete;

  /// Makes durable what was decided, resigns, closes all streams. Workers run on.
  ~ControllerDaemon() override;

  /// Where agents are listened for.
  std::string agents_address() const { return server_->address(); }

  /// What agents are told from now on as the controller's HTTP address, where it was not known at
  /// the start.
  void advertise(std::string url);

  void read(std::function<void(const ControlView&)> look) override;
  void ask(EventBody request, std::function<void(const RequestOutcome&)> done) override;
  void when_durable(std::function<void(const RequestOutcome&)> done) override;
  std::unique_ptr<Subscription> follow_events(std::size_t backlog,
                                              std::function<void(const EventLine&)> told) override;
  std::unique_ptr<Subscription> follow_changes(std::function<void(JobId)> changed) override;
  std::unique_ptr<Subscription> read_log(const LogQuery& query,
                                         std::function<void(const LogPiece&)> told) override;

 private:
  explicit ControllerDaemon(ControllerParts parts);

  // LinkListener, on the transport's threads.
  void on_open(LinkId link, const Peer& peer) override;
  void on_messages(LinkId link, std::vector<AgentMessage> messages) override;
  void on_closed(LinkId link, const std::string& why) override;

  // On the core thread.
  void live();
  void campaign();
  void campaigned(const Result<std::optional<Leadership>>& result);
  void begin_term();
  void take_next_term();
  void look_at_next_term();
  void not_begun(const Errors& errors);
  void try_again();
  void look_at_term();
  void outgrow(Epoch later);
  void end_term(Admission admission, std::string why);
  void tell_admission(Admission admission, std::string why);
  std::string why_store_failed(const Errors& errors) const;
  std::optional<Candidate> known_leader() const;
  std::string why() const;
  TaskQueue::Clock::time_point next_wake();
  bool says_hello(LinkId link, const std::vector<AgentMessage>& messages);
  void end_without_hello();
  ControllerFacts facts();

  ControllerParts parts_;
  TaskQueue tasks_;
  EventLines lines_;
  JobChanges changes_;
  std::unique_ptr<Election> election_;
  std::unique_ptr<LinkServer> server_;
  std::atomic<std::uint64_t> messages_in_{0};

  // The core thread's own.
  std::map<std::uint64_t, Peer> peers_;  ///< By stream.
  /// Streams that have not said hello, and until when they may: the oldest first.
  std::map<std::uint64_t, TaskQueue::Clock::time_point> without_hello_;
  Admission admission_ = Admission::Starting;
  std::string why_ = "the journal is being read";  ///< As of the last change.
  bool campaign_failed_ = false;                   ///< `why_` is the reason.
  std::optional<Leadership> leadership_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<LeaderTerm> term_;
  /// Of the term that follows a halted one as soon as its begin is durable.
  std::unique_ptr<Policy> next_policy_;
  std::unique_ptr<LeaderTerm> next_term_;
  std::optional<TaskQueue::Clock::time_point> try_again_at_;
  bool store_is_taken_ = false;  ///< By another process or leader, when it was tried last.
  Instant started_;
  std::uint64_t links_opened_ = 0;
  std::uint64_t terms_ = 0;
  decltype(ControllerFacts::inbox_wait) inbox_wait_ = ControllerFacts{}.inbox_wait;
  std::array<std::uint64_t, EnumNames<PlanLoss>::kNames.size()> plans_lost_{};
  Epoch epoch_min_;          ///< Of the next term.
  bool was_behind_ = false;  ///< Nodes have seen more than the journal of this process holds.
  int leaps_ = 0;            ///< Terms that were ended for that.
  bool stopping_ = false;

  std::jthread campaign_;
  std::thread thread_;
};

}  // namespace orrery::runtime
