// When each node and worker was last heard: the controller's soft state, outside journal and
// digest. Out come the edges that are journaled.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/heartbeat.hpp"
#include "core/base/bytes.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// What became of a heartbeat.
enum class HeartbeatVerdict : std::uint8_t {
  Renewed,        ///< Heard; the agent's lease is to be renewed.
  UnknownNode,    ///< No such node was declared.
  StaleSession,   ///< From an earlier life of the node's agent.
  StaleNumber,    ///< Overtaken by a later one.
  StaleEpoch,     ///< The agent speaks of another epoch than ours.
  NotRegistered,  ///< The session is new and must begin with a registration.
};

template <>
struct EnumNames<HeartbeatVerdict> {
  static constexpr std::array kNames{
      "Renewed", "UnknownNode", "StaleSession", "StaleNumber", "StaleEpoch", "NotRegistered"};
};

/// The leader's session. All nodes' deadlines, complete lists and raw profilings.
///
/// Its output are bodies of events in the order in which they are to be journaled. What a list does
/// not name any more is lost; what it names although it was not ordered makes the node "return"
/// with its whole list, so that the controller reconciles.
///
/// An order is never given up by time, since one that is merely late would start what has been
/// placed anew. It is given up by evidence: a connection hands orders over in their sequence, so
/// once there is a new connection, and its first list does not name a worker that was ordered
/// before it, the order is lost for good. That its job is over is no evidence: what was told to
/// start comes up all the same, and a list that was made before must not deny it.
class Liveness {
 public:
  /// Begins `epoch` at `now`. Every node has until the end of its lease plus the takeover grace to
  /// be heard for the first time, which may be a reconnect storm away.
  Liveness(Epoch epoch, const Settings& settings, std::uint32_t node_count, Instant now);

  /// More nodes were declared: numbered on from those known. Same grace.
  void declare_nodes(std::uint32_t node_count, Instant now);

  /// The node's agent has a new connection: what was ordered before may be lost, and the node
  /// returns with its next registration. A host whose orders cannot be lost never calls this.
  void connected(NodeId node);

  /// The node is a new machine: nothing that was known of it holds any more. Its agent
  /// has to register with the complete list of what runs there, within the lease of before.
  void replaced(NodeId node);

  /// Takes one heartbeat, heard at `now`, and appends edges. The caller answers Renewed with
  /// LeaseRenewed, and StaleEpoch with EpochAnnounced, so that the agent registers.
  HeartbeatVerdict heard(const Heartbeat& beat, Instant now, std::vector<EventBody>& edges);

  /// What the agent of `node` reported of single workers; passes it on as an edge.
  void reported(NodeId node, const WorkersChanged& report, std::vector<EventBody>& edges);

  /// What the controller orders, before it is sent: lists are read in its light.
  void ordered(const CommandBody& order);

  /// A start that was ordered was given up before it went out.
  void withdrawn(NodeId node, const RunningWorker& worker);

  /// Workers that were told to start on the node's present connection and are in no list yet.
  const std::vector<RunningWorker>& on_their_way(NodeId node) const {
    return nodes_[node.index()].ordered;
  }

  /// What a worker measured; only values that differ from the last become an edge.
  void profiled(const ProfilingChanged& measured, std::vector<EventBody>& edges);

  /// A job is over: its profilings are forgotten. Its orders are not, see above.
  void forget(JobId job);

  /// Appends NodeSilent for each node whose time is over.
  void time_reached(Instant now, std::vector<EventBody>& edges);

  /// When `time_reached` must be called at the latest.
  Instant next_deadline() const;

  /// Whether the node has been heard within its lease.
  bool is_heard(NodeId node) const { return nodes_[node.index()].standing == Standing::Heard; }

  /// When the node was heard last; zero where never in this epoch.
  Instant last_heard(NodeId node) const { return nodes_[node.index()].last_heard; }

  /// Heartbeats that renewed a lease.
  std::uint64_t renewals() const { return renewals_; }

  /// Workers that are in no list yet, and members whose profilings are noted. A look at all nodes.
  std::size_t noted() const;

  /// All that decides what it does next, for comparison: of two with equal settings and equal
  /// bytes, equal calls have equal effects. Nothing reads the bytes back.
  void save(ByteWriter& out) const;

 private:
  /// Known keys of one rank are bounded: free keys beyond are dropped.
  static constexpr std::size_t kProfilingKeysMax = 64;

  enum class Standing : std::uint8_t {
    Awaited,  ///< Not heard in this epoch, or not since it was replaced; within its time.
    Heard,
    Silent,
  };

  struct Node {
    Standing standing = Standing::Awaited;
    bool fresh = false;  ///< A new connection, on which it has not registered yet.
    std::uint64_t session = 0;
    std::uint64_t number = 0;
    Instant last_heard;
    Instant deadline;
    std::uint32_t place = kNoPlace;      ///< In `deadlines_`.
    WorkerList known;                    ///< The last list.
    std::vector<RunningWorker> ended;    ///< Of the last list, reported as ended since.
    std::vector<RunningWorker> ordered;  ///< Told to start, in no list yet.
    std::vector<RunningWorker> doubted;  ///< The same, ordered on an earlier connection.
  };

  struct Profile {
    Generation generation;
    std::map<std::string, double> values;
  };

  static constexpr std::uint32_t kNoPlace = UINT32_MAX;

  HeartbeatVerdict judge(const Heartbeat& beat) const;
  static void take_back(Node& node, const Heartbeat& beat, std::vector<EventBody>& edges);
  static void compare(Node& node, const Heartbeat& beat, std::vector<EventBody>& edges);
  void set_deadline(NodeId id, Instant deadline);
  bool is_earlier(NodeId a, NodeId b) const;
  void put(std::size_t place, NodeId id);
  std::size_t rise(std::size_t place);
  void sink(std::size_t place);

  Epoch epoch_;
  Duration lease_;
  Duration grace_;
  std::vector<Node> nodes_;
  std::vector<NodeId> deadlines_;  ///< Heap of those that are not silent, the earliest first.
  std::map<std::pair<JobId, Rank>, Profile> profiles_;
  std::uint64_t renewals_ = 0;
};

}  // namespace orrery
