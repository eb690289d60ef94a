// One leader with its nodes: the whole session, both directions, in every world the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/leader/leader_session.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// What a world carries from a leader to the agents: one stream per node, which hands messages over
/// in their order or breaks. The leader speaks only where it was told of a stream. A world in which
/// speaking breaks the stream says so at once, with Leader::disconnected, from within the call.
class NodeStreams {
 public:
  virtual ~NodeStreams() = default;

  /// The lease is renewed: `heard_of` is when the heartbeat left, by the agent's clock. It
  /// `registers`: orders follow, which must not come before it.
  virtual void renew(NodeId node, Instant heard_of, bool registers) = 0;

  /// A leader of another epoch than the agent's is here: it is to register.
  virtual void announce(NodeId node) = 0;

  /// What the job is. Comes before the first order of the job on a stream.
  virtual void tell_job(NodeId node, const JobState& job) = 0;

  /// All members of the job. Comes before an order that starts some of them or tells them
  /// their membership.
  virtual void tell_members(NodeId node, const JobState& job) = 0;

  /// An order for this node and maybe others; `part_for` is this node's part.
  virtual void order(NodeId node, const std::shared_ptr<const Command>& command) = 0;

  /// The stream is of no use any more; its agent is to connect anew, and to register.
  virtual void close(NodeId node, std::string_view why) = 0;
};

/// The part of an order that is about one node.
CommandBody part_for(NodeId node, const CommandBody& body);

/// Of what a leader keeps for nodes and jobs, how much there is.
struct LeaderEntries {
  std::size_t jobs = 0;      ///< Jobs of which something was asked or issued.
  std::size_t expected = 0;  ///< Of what its liveness and suspicions note of jobs.
  std::size_t waiting = 0;   ///< Orders that wait for a registration.
  std::size_t told = 0;      ///< Jobs told on streams, once for each stream.

  std::size_t all() const { return jobs + expected + waiting + told; }
};

/// A pure state machine beside the controller: what its nodes say becomes news for the driver, what
/// the controller orders goes out over their streams.
///
/// An agent is answered when the leader's epoch is safe (`establish`). Its orders wait until it has
/// registered on its stream and holds a lease. A start that was given up while it waited, for the
/// store or for the stream, does not go out any more. When a node is given up nothing waits for it.
/// What is said of a worker is taken from its own node alone (own_reports.hpp).
///
/// Soft state: a successor begins with an empty one. What concerns a job is forgotten with the
/// order that cleans it up; only workers that are starting are expected until they are in a list or
/// have ended. All instants are of one monotonic clock, the session's; see LeaderSession.
class Leader {
 public:
  /// `state` is the leader's own; it and `streams` outlive the leader. `nodes`: how many are
  /// declared.
  Leader(Epoch epoch,
         const State& state,
         const Settings& settings,
         std::uint32_t nodes,
         Instant now,
         Duration journal_ahead,
         NodeStreams& streams);

  /// The epoch is safe: from now on beats are answered.
  void establish(Instant now);

  bool is_established() const { return established_; }

  /// More nodes were declared: numbered on from those known.
  void declare_nodes(std::uint32_t count, Instant now) { session_.declare_nodes(count, now); }

  // --- streams ---

  /// The node's agent has a stream, in place of any other.
  void connected(NodeId node);

  /// The node has no stream any more. What waits goes on waiting.
  void disconnected(NodeId node);

  bool is_open(NodeId node) const { return node.index() < nodes_.size() && at(node).open; }

  /// The agent has registered on its stream: orders go out.
  bool is_registered(NodeId node) const { return is_open(node) && at(node).registered; }

  // --- what agents say; `from` is the node whose stream it came over ---

  /// Takes a heartbeat and answers it. `may_renew`: no other controller can lead by now; without it
  /// no lease is granted.
  HeartbeatVerdict beat(NodeId from, HeardBeat heard, bool may_renew, Instant now);

  /// What workers measured, equal values included: what has changed becomes news.
  void profiled(NodeId from, const ProfilingChanged& measured, Instant now);

  void reported(NodeId from,
                const std::vector<WorkersChanged>& changes,
                Instant sent_at,
                Instant now);

  /// Which devices of the node do not work now; 0: all work. `held`: it waits for its check.
  void lacks(NodeId from, std::uint64_t devices, bool held, Instant occurred_at, Instant now);

  /// DevicesLost, SubMasterSaid, ProgressReported or FailureExplained; false where it does not
  /// count, as anything else that an agent has no say in.
  bool said(NodeId from, EventBody fact, Instant occurred_at, Instant now);

  /// The node has announced that it goes away then.
  void leaving(NodeId from, Instant leaves_at, Instant occurred_at, Instant now);

  // --- what others say ---

  /// What a client has said of a worker's measurements (rank none: of its job's), and what the
  /// controller has taken and journaled: a sign of life. Nothing more is journaled but what comes
  /// of it, as of a beat's: that a worker straggles.
  void measured(const ProfilingChanged& measured, Instant now) { session_.measured(measured, now); }

  /// Of clients, and of the extension that replaces nodes.
  void told(Origin origin, EventBody body, Instant occurred_at, Instant now);

  // --- what the controller says ---

  /// Sends an order to every node that it is about, when they can take it.
  void order(const Command& command);

  /// A start of this incarnation was overtaken while it waited for the store, and is no order.
  void withheld(JobId job, Incarnation incarnation);

  // --- time ---

  /// Finds nodes that have become silent: nothing waits for them.
  void time_reached(Instant now);

  /// When `time_reached` must be called at the latest.
  Instant next_deadline() const { return session_.next_deadline(); }

  // --- for the driver ---

  bool has_news() const { return session_.has_news(); }

  /// See LeaderSession.
  void take_news(std::vector<Event>& events) { session_.take_news(events); }

  /// See LeaderSession.
  void drop_news() { session_.drop_news(); }

  /// See LeaderSession.
  void save(ByteWriter& out) const;

  // --- figures ---

  const Liveness& liveness() const { return session_.liveness(); }

  std::uint64_t calls() const { return session_.calls(); }

  /// Orders that went out, once for each node.
  std::uint64_t orders_sent() const { return orders_sent_; }

  LeaderEntries entries() const;

 private:
  struct Node {
    bool open = false;
    bool was_connected = false;
    bool registered = false;
    std::vector<std::shared_ptr<const Command>> waiting;
    std::map<JobId, Generation> told;  ///< On this stream: jobs, and of which membership; 0: none.
  };

  Node& at(NodeId node);

  const Node& at(NodeId node) const { return nodes_[node.index()]; }

  void order_to(NodeId node, const std::shared_ptr<const Command>& command);
  void send(NodeId node, const std::shared_ptr<const Command>& command);
  void tell_job(NodeId id, JobId job, bool with_members);
  void registered(NodeId node);
  std::shared_ptr<const Command> still_meant(NodeId node, std::shared_ptr<const Command> order);
  void close(NodeId node, std::string_view why);
  void give_up(NodeId node);

  const State& state_;
  NodeStreams& streams_;
  LeaderSession session_;
  bool established_ = false;
  std::vector<Node> nodes_;
  std::uint64_t orders_sent_ = 0;
};

}  // namespace orrery
