// What the outside (HTTP, tests) may ask of a running controller. Any thread may call; everything
// is carried out on the controller's core thread, where it calls back. What calls back must not
// block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/control/user_events.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"
#include "runtime/controller/histogram.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Whether requests that change something are taken.
enum class Admission : std::uint8_t {
  Open,
  Starting,     ///< The journal is being read, or leadership being won or in doubt.
  Following,    ///< Another controller leads; `ControllerFacts::leader_url` names it.
  StoreFailed,  ///< The journal cannot be written: jobs run on, nothing new is taken.
  Closing,
};

/// What a node's agent is known for beyond the state.
struct NodeFacts {
  std::string name;
  std::string address;  ///< Where its workers are reached; empty: never connected.
  std::string peer;     ///< Where its agent's connection comes from.
  std::string program;  ///< Version of the agent.
  bool connected = false;
  Instant last_heard;  ///< By the journal's clock; zero: never in this term.
  Inventory inventory;
  std::uint64_t lost_devices = 0;
  bool held = false;  ///< Its agent says that it can take no more work now.
};

/// One line for people: what was decided, in words.
struct EventLine {
  std::uint64_t number = 0;  ///< Counts up from 1 within one life of the process.
  Instant at;                ///< Nanoseconds since the Unix epoch.
  std::string job;           ///< Full name; empty: about a node or the controller.
  std::string node;          ///< Name; empty: about a job.
  UserEvent event;
};

/// Counters and gauges of the process itself, for /metrics.
struct ControllerFacts {
  Admission admission = Admission::Starting;
  std::string why;         ///< In words, where admission is not open.
  bool has_state = true;   ///< It knows the jobs; not before its store was opened.
  std::string leader_url;  ///< HTTP address of the controller that leads; empty: not known.
  std::string name;        ///< Of this controller.
  Epoch epoch;
  Sequence durable;
  Instant started;               ///< Of this process.
  std::uint64_t heartbeats = 0;  ///< That renewed a lease.
  std::uint64_t links_open = 0;
  std::uint64_t links_opened = 0;
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t plans_asked = 0;
  /// Plans that the policies of all terms owed, by PlanLoss.
  std::array<std::uint64_t, EnumNames<PlanLoss>::kNames.size()> plans_lost{};
  std::uint64_t orders = 0;   ///< Issued to agents.
  std::uint64_t terms = 0;    ///< Led by this process.
  double store_commit_s = 0;  ///< Of the last commit.
  std::uint64_t inbox = 0;    ///< Items waiting for the core thread.
  /// How long the oldest item of each sweep of the inbox had waited, in seconds.
  Histogram<8> inbox_wait{{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3}, {}, 0};
};

/// Where a worker takes calls; docs/calls.md.
struct CallEndpoint {
  std::string token;        ///< The worker's own: keys of its callers are made from it.
  std::int32_t port = 0;    ///< On its node's address; above 0.
  std::string certificate;  ///< SHA-256 of what it shows there, in hexadecimal; empty: plaintext.
};

/// Knows by which tokens workers are known to the HTTP server, and where they take calls.
class TokenOwners {
 public:
  virtual ~TokenOwners() = default;

  /// Null where the worker takes no calls, as far as its agent has told.
  virtual const CallEndpoint* endpoint(const WorkerName& worker) const = 0;

  /// The worker that holds this token; nothing where it is unknown, or that of an ended worker.
  virtual std::optional<WorkerName> owner(const std::string& token, const State& state) const = 0;
};

/// What may be looked at while a `read` lasts: consistent, and gone afterwards.
struct ControlView {
  const State& state;
  const ControllerFacts& facts;
  std::span<const NodeFacts> nodes;     ///< By NodeId; as many as `state.nodes`.
  Instant now;                          ///< By the journal's clock.
  const TokenOwners* tokens = nullptr;  ///< Of workers; null where no leader runs here.
};

/// How a request ended. Durable when it is told.
struct RequestOutcome {
  enum class Kind : std::uint8_t {
    Accepted,
    Refused,      ///< By the core: `message` says what was found and needed.
    Unavailable,  ///< Not taken (`Admission`), or its outcome is unknown.
  };
  Kind kind = Kind::Unavailable;
  JobId job;            ///< Of the answer; none where it names no known job.
  std::string message;  ///< With Refused and Unavailable.
};

/// A place in the log of one start of a worker.
struct LogPosition {
  Incarnation incarnation;
  std::int64_t bytes = -1;  ///< Before it, those that are kept no longer included; -1: not known.

  bool is_known() const { return bytes >= 0; }

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

/// Whose log, and how much of it.
struct LogQuery {
  JobId job;
  RoleIndex role;                ///< None: `rank` is the present rank in the job.
  std::int32_t rank = 0;         ///< Index inside the role, or in the job.
  std::uint64_t tail_bytes = 0;  ///< 0: all that is kept.
  bool follow = false;
  bool previous = false;  ///< Of the worker that had this place before the present one.
  LogPosition since;      ///< What lies before is left out, where it is a place in this log.
};

/// A piece of a log on its way to who reads it.
struct LogPiece {
  std::string_view data;
  bool last = false;     ///< Nothing more comes.
  std::string error;     ///< With `last`: why there is no log, or no more of it.
  bool passing = false;  ///< With `error`: of the moment, so that asking again helps.
  LogPosition begin;     ///< Of `data`.
};

/// Ends what it stands for when it is destroyed: a log that is followed, a subscription. Any
/// thread.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

class ControlApi {
 public:
  virtual ~ControlApi() = default;

  /// Calls `look` once on the core thread, between two decisions. After the end of the controller
  /// it is destroyed without a call.
  virtual void read(std::function<void(const ControlView&)> look) = 0;

  /// Journals a request and tells its outcome once that is durable: JobSubmitted, ScaleRequested,
  /// StopRequested, DeleteRequested, ExclusionRequested, ProfilingChanged (rank none: of the job as
  /// a whole, kept as the first worker's), NodeLeaving. The field `request`, where the record has
  /// one and it is 0, is filled in; a client that repeats a submission gives the same number again,
  /// and gets the same answer.
  virtual void ask(EventBody request, std::function<void(const RequestOutcome&)> done) = 0;

  /// Tells whether all that a `read` at this moment would show is kept: Accepted once it is
  /// durable. What is not may be lost with this process, and is nothing to build an answer on.
  virtual void when_durable(std::function<void(const RequestOutcome&)> done) = 0;

  /// Calls `told` with each line from now on, after up to `backlog` earlier ones.
  virtual std::unique_ptr<Subscription> follow_events(
      std::size_t backlog, std::function<void(const EventLine&)> told) = 0;

  /// Calls `changed` whenever something about a job may have changed (phase, membership,
  /// profilings), with the job; none: anything may have, for example after a takeover.
  virtual std::unique_ptr<Subscription> follow_changes(std::function<void(JobId)> changed) = 0;

  /// Calls `told` with pieces of a log, up to the one that is `last`. Logs of workers that have
  /// ended are read as long as their node keeps them.
  virtual std::unique_ptr<Subscription> read_log(const LogQuery& query,
                                                 std::function<void(const LogPiece&)> told) = 0;
};

}  // namespace orrery::runtime

template <>
struct orrery::EnumNames<orrery::runtime::Admission> {
  static constexpr std::array kNames{"open", "starting", "following", "store_failed", "closing"};
};
