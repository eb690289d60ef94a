// One term of one leader: its controller, driver, session with the nodes, and streams, all on the
// core thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/replay.hpp"
#include "core/driver/world.hpp"
#include "core/leader/leader.hpp"
#include "core/plan/policy.hpp"
#include "runtime/config/config.hpp"
#include "runtime/controller/agent_sessions.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/controller/event_lines.hpp"
#include "runtime/controller/journal_clock.hpp"
#include "runtime/controller/log_requests.hpp"
#include "runtime/controller/node_checks.hpp"
#include "runtime/controller/worker_credentials.hpp"
#include "runtime/election/election.hpp"
#include "runtime/link/link.hpp"
#include "runtime/store/background_store.hpp"

namespace orrery::runtime {

/// What a term needs from its process. All outlive it.
struct LeaderTermParts {
  const ControllerConfig& config;
  StateStore& store;  ///< Open for appending; the term commits to it on a thread of its own.
  Policy& policy;
  Election& election;
  LinkServer& links;
  EventLines& lines;
  JobChanges& changes;
  Epoch epoch_min;  ///< The term's epoch is this or a later one: nodes have heard of earlier ones.
  bool trusts_seen = true;  ///< False: that nodes have seen more than the journal holds is known.
  /// Any thread: makes the core thread call `work`.
  std::function<void()> wake;
  /// Any thread: has the core thread carry a task out.
  std::function<void(std::function<void()>)> post;
  /// Replaces nodes by name (`description`: see RelaunchRunner); answers on the core thread with
  /// the names replaced, or an error.
  std::function<void(std::vector<std::string> nodes,
                     std::string description,
                     Duration timeout,
                     std::function<void(std::vector<std::string>, std::string)> done)>
      relaunch;
  std::unique_ptr<Planner> planner = nullptr;  ///< Null: the policy runs on the core thread.
  /// Plans lost, by PlanLoss: counted here.
  std::array<std::uint64_t, EnumNames<PlanLoss>::kNames.size()>& plans_lost;
};

/// Leads from the journal's end on. Everything but the wake runs on the core thread.
///
/// It grants nothing before the record that begins its epoch is durable. When the store refuses it
/// halts: it goes on renewing leases as long as leadership is certain, so that workers run on, and
/// decides nothing any more.
class LeaderTerm final : private World, private RunObserver {
 public:
  using Steady = std::chrono::steady_clock;

  /// Replays the journal and journals the begin of the next epoch. Errors are the store's.
  static Result<std::unique_ptr<LeaderTerm>> begin(LeaderTermParts parts);

  LeaderTerm(const LeaderTerm&) = delete;
  LeaderTerm& operator=(const LeaderTerm&) = delete;
  ~LeaderTerm() override;

  // --- streams ---

  void heard(LinkId link, const Peer& peer, AgentMessage message);
  void closed(LinkId link);

  // --- requests ---

  void ask(EventBody request, std::function<void(const RequestOutcome&)> done);

  /// As `ControlApi`; not once it is halted.
  void when_durable(std::function<void(const RequestOutcome&)> done);
  std::unique_ptr<Subscription> read_log(const LogQuery& query, LogRequests::Told told);

  // --- the loop ---

  /// Does all there is to do now.
  void work();

  /// When `work` must be called at the latest.
  Steady::time_point next_wake();

  bool is_established() const { return established_; }

  /// Whether the store has refused.
  bool is_halted() const { return halted_; }

  /// What this term has ordered so far, in words: what a replay of its records must give.
  std::string orders_text() const { return driver_.term_orders().text(); }

  /// Whether it refused because another leads.
  bool is_deposed() const;

  /// The epoch in which the next term must begin, since a node of this cluster has heard of a later
  /// one than ours, or of records that the journal does not hold: the journal was put back from a
  /// copy, or has lost its end. Nothing where no node has.
  std::optional<Epoch> outgrown() const { return outgrown_; }

  /// Why it halted.
  const Errors& store_errors() const {
    return store_errors_.empty() ? driver_.store_errors() : store_errors_;
  }

  /// Waits until all that was decided is durable.
  Status flush() { return store_ ? store_->flush() : Status(Done{}); }

  const State& state() const { return controller_->state(); }

  Instant journal_now() const { return clock_.now(); }

  std::span<const NodeFacts> node_facts() { return sessions_.facts(); }

  const WorkerCredentials& credentials() const { return credentials_; }

  /// Halted: lets go of the store, so that it can be opened anew while leases are still renewed.
  void release_store() { store_.reset(); }

  /// Fills in what the term knows.
  void add_facts(ControllerFacts& facts) const;

 private:
  LeaderTerm(LeaderTermParts parts, std::unique_ptr<Controller> replayed, const JournalEnd& end);

  Status open();

  // World
  Instant now() const override { return clock_.now(); }

  void issue(const Command& command) override;

  void withheld(JobId job, Incarnation incarnation) override { leader_.withheld(job, incarnation); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  // RunObserver
  void on_notices(std::span<const Notice> notices, const State& state) override;
  void on_event(Sequence sequence, const Event& event) override;

  void hello(LinkId link, const Peer& peer, const Hello& hello);
  std::uint64_t withheld(NodeId node);
  bool is_held(NodeId node);
  bool look_for_later_records(NodeId node, const Beat& beat);
  void on(NodeId node, Beat& beat);
  void on(NodeId node, const Reports& reports);
  void on(NodeId node, const Fact& fact);
  void on(NodeId node, const WorkerNotice& notice);

  void on(NodeId node, const WorkerTokens& told) { credentials_.learn(node, told, state()); }

  void on(NodeId node, const LogChunk& chunk) { logs_.chunk(node, chunk); }

  void on(NodeId node, const CheckResult& result) { checks_.answered(node, result, clock_.now()); }

  /// A stream whose node is known, or is being declared.
  struct PendingAgent {
    LinkId link;
    Peer peer;
    Hello hello;
  };

  void out_of_reach(NodeId node);
  void refuse(LinkId link, std::string reason, bool again);
  void refuse(LinkId link, const Refusal& refusal);
  void refuse_pending();
  void declare_pending();
  bool hold_back(std::size_t first);
  std::optional<Refusal> not_now(NodeId node, const Hello& hello) const;
  void welcome(const PendingAgent& pending, NodeId node, bool fresh);
  void tell_other_ports(NodeId node, PortRange offered);
  void judged(NodeId node, bool usable, const std::string& why);
  void answer_when_durable(JobId job, std::function<void(const RequestOutcome&)> done);
  void answer_durable();
  void establish_if_safe();
  void look_at_time();
  void take_turns();
  void halt(Errors why = {});
  void look_at_store();
  void relaunch(const RelaunchNodes& order);
  void relaunched(JobId job,
                  std::uint32_t incident,
                  const std::vector<std::string>& replaced,
                  std::string error);
  void add_line(Instant at, JobId job, NodeId node, UserEvent event);
  std::uint64_t new_request();

  LeaderTermParts parts_;
  std::shared_ptr<LeaderTerm*> self_ =
      std::make_shared<LeaderTerm*>(this);  ///< For tasks that may be late.
  std::unique_ptr<Controller> controller_;
  JournalClock clock_;
  Epoch epoch_;
  Settings settings_;
  std::unique_ptr<BackgroundStore> store_;  ///< Null once a halted term has let go of it.
  std::unique_ptr<Planner> planner_;
  Driver driver_;
  AgentSessions sessions_;
  Leader leader_;
  WorkerCredentials credentials_;
  LogRequests logs_;
  NodeChecks checks_;
  Sequence begun_at_;                ///< The record that begins the epoch.
  std::size_t nodes_of_before_ = 0;  ///< So many nodes were declared before it.
  bool established_ = false;
  bool halted_ = false;
  Errors store_errors_;  ///< Of a store that refused while the driver did not ask it.
  std::optional<Epoch> outgrown_;
  std::vector<PendingAgent> pending_;    ///< Said hello since the last sweep.
  std::set<std::uint64_t> welcoming_;    ///< Streams that wait for their welcome.
  std::map<std::string, NodeId> names_;  ///< Nodes by name.
  std::set<std::string> configured_;     ///< Names of nodes in the configuration's groups.
  std::size_t named_ = 0;                ///< Nodes that `names_` knows of.

  struct Waiting {
    Sequence until;
    std::function<void(bool durable)> then;  ///< False: the term ended before.
  };

  std::vector<Waiting> until_durable_;  ///< In the order of their records.
  std::map<std::uint64_t, std::vector<std::function<void(const RequestOutcome&)>>> asked_;
  std::uint64_t requests_ = 0;
  std::optional<std::string> ignored_;  ///< Why the event at hand changed nothing.
};

}  // namespace orrery::runtime
