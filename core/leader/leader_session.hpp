// What one leader hears of its nodes, on its way to the journal: the same in every world.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/agent/heartbeat.hpp"
#include "core/agent/liveness.hpp"
#include "core/agent/suspicion.hpp"
#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// A heartbeat as it was heard, with what came along.
struct HeardBeat {
  Heartbeat beat;
  std::vector<ProfilingChanged> measured;  ///< Of workers that are watched for hangs or stragglers.
  std::uint64_t lost_devices = 0;          ///< Registering: those of the node that do not work.
  bool held = false;                       ///< Registering: the node waits for its check.
  Instant leaves_at = Instant::never();    ///< Registering: the node has announced this.
  Instant sent_at;                         ///< By the session's clock, as far as is known.
};

/// What is told of a node of which these devices do not work, and that waits for its check or not.
EventBody lack_of(NodeId node, std::uint64_t devices, bool held);

/// Liveness and suspicions of one leader, with the inbox of its driver and what it has ordered.
/// Soft state: a successor begins with an empty one. Part of Leader, which checks that a report is
/// of the node's own workers; it alone drives it.
///
/// All instants of the interface are of one monotonic clock, the session's; the journal's is ahead
/// of it by a fixed duration. Before an order goes out, `ordered` is called; and when a node has a
/// new connection, `connected`.
class LeaderSession {
 public:
  /// `state` is the leader's own and outlives the session. `nodes`: how many are declared.
  LeaderSession(Epoch epoch,
                const State& state,
                const Settings& settings,
                std::uint32_t nodes,
                Instant now,
                Duration journal_ahead);

  /// The epoch is safe: what the journal says of workers becomes what is expected of them.
  void establish(Instant now);

  /// More nodes were declared: numbered on from those known.
  void declare_nodes(std::uint32_t count, Instant now) { liveness_.declare_nodes(count, now); }

  /// The node's agent has a new connection, and had one before: what was ordered on that may be
  /// lost, but for `waiting`, which has not gone out.
  void connected(NodeId node, const std::vector<const CommandBody*>& waiting);

  /// A start of the job has come out of the store, whether or not it is still meant: a list that
  /// does not name the worker says by now that it is not there.
  void issued(JobId job, Incarnation incarnation);

  /// An order goes out, or waits for its connection. One that cleans a job up is the last of it:
  /// what was noted of the job is forgotten, except for workers that are starting.
  void ordered(const CommandBody& body);

  /// A start that was ordered was given up before it went out.
  void overtaken(JobId job, Generation generation, const WorkerStart& start);

  HeartbeatVerdict heard(const HeardBeat& heard, Instant now);

  void reported(NodeId node,
                const std::vector<WorkersChanged>& changes,
                Instant sent_at,
                Instant now);

  /// What a node or its workers say otherwise.
  void told(Origin origin, EventBody body, Instant occurred_at, Instant now);

  /// The node has announced that it goes away at `leaves_at`.
  void will_leave(NodeId node, Instant leaves_at, Instant occurred_at, Instant now);

  /// A raw measurement that is to be in the journal; equal ones are not.
  void profiled(const ProfilingChanged& measured, Instant now);

  /// A measurement that a client has journaled: a sign of life as those of beats are. Rank none: of
  /// the job as a whole.
  void measured(const ProfilingChanged& measured, Instant now);

  /// Appends the nodes that have become silent to `silent`.
  void time_reached(Instant now, std::vector<NodeId>& silent);

  /// When `time_reached` must be called at the latest.
  Instant next_deadline() const;

  bool has_news() const { return !inbox_.empty(); }

  /// Hands on what the driver is to decide next: all there is, but up to the next complete list
  /// only. A list does not count a worker as missing whose start was decided after it was heard:
  /// what comes before it is decided first, and every worker that is starting by then is added to
  /// it.
  void take_news(std::vector<Event>& events);

  /// Forgets what has not been handed on: for a leader that decides nothing any more.
  void drop_news() { inbox_.clear(); }

  /// Whether the leader still wants this start: while it waited for the store or the connection,
  /// the worker may have been given up.
  bool is_wanted(JobId job, const WorkerStart& start) const;

  /// Nodes to which something of the job may have gone, ascending.
  std::vector<NodeId> nodes_of(JobId job) const;

  /// Nodes at which workers of the job were told to start, or lived when the leader began,
  /// ascending.
  const std::vector<NodeId>& asked(JobId job) const;

  /// Jobs of which something is noted.
  std::size_t jobs_noted() const { return jobs_.size(); }

  /// All that decides what it does next but the state of its controller, for comparison: of two
  /// with equal states, settings and bytes, equal calls have equal effects. Nothing reads the bytes
  /// back.
  void save(ByteWriter& out) const;

  const Liveness& liveness() const { return liveness_; }

  const Suspicions& suspicions() const { return suspicions_; }

  /// Calls of the pure machines below.
  std::uint64_t calls() const { return calls_; }

 private:
  /// A job that is not over.
  struct Job {
    std::vector<NodeId> asked;  ///< Where its workers were told to start, ascending.
    Incarnation issued;         ///< The latest start that went out, or that an earlier leader had
                                ///< decided on.
  };

  void note(Origin origin, Instant occurred, Instant now, EventBody body);
  void take_edges(Instant occurred, Instant now);
  void add_starting(NodeReturned& returned) const;

  const State& state_;
  Duration ahead_;
  Liveness liveness_;
  Suspicions suspicions_;
  std::map<JobId, Job> jobs_;
  std::deque<Event> inbox_;
  std::vector<EventBody> edges_;  ///< Of one call.
  std::uint64_t calls_ = 0;
};

}  // namespace orrery
