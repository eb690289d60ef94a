// What travels between a controller and the agents of its nodes: one field list each, which serves
// the wire as it serves the journal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery::runtime {

/// Version of these messages; both sides must speak the same one.
inline constexpr std::uint32_t kLinkVersion = 3;

/// One device that an agent has found; bit i of a device mask means the i-th of its inventory.
struct FoundDevice {
  std::string model;   ///< "h200": the model's short name in lower case.
  std::string uuid;    ///< The vendor's name of this very device; may be empty.
  std::string bus_id;  ///< PCI address; may be empty.
  Bytes memory;
  std::int32_t numa_node = -1;  ///< -1: not known.

  friend bool operator==(const FoundDevice&, const FoundDevice&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("model", self.model);
    v.field("uuid", self.uuid);
    v.field("bus_id", self.bus_id);
    v.field("memory", self.memory);
    v.field("numa_node", self.numa_node);
  }
};

/// What a node has to give, after its configuration has reserved a part or named other figures.
struct Inventory {
  MilliCpu cpu;
  Bytes memory;
  std::int32_t numa_nodes = 1;
  DeviceVendor vendor = DeviceVendor::Nvidia;
  std::vector<FoundDevice> devices;         ///< At most 64, all of one model.
  std::vector<HardwareCount> hardware;      ///< Custom hardware, numbered through in this order.
  PortRange ports = PortRange::standard();  ///< At which its workers listen.

  friend bool operator==(const Inventory&, const Inventory&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("cpu", self.cpu);
    v.field("memory", self.memory);
    v.field("numa_nodes", self.numa_nodes);
    v.field("vendor", self.vendor);
    v.field("devices", self.devices);
    v.field("hardware", self.hardware);
    v.field("ports", self.ports);
  }
};

// --- from an agent ---

/// First message on each stream: identifies the node. Answered by Welcome or Refusal.
struct Hello {
  std::uint32_t link_version = kLinkVersion;
  std::string program;        ///< Version of the agent's program, for people.
  std::string node;           ///< Its name: a DNS label, unique in the cluster.
  std::string group;          ///< Node group; empty: "default".
  std::string address;        ///< Where its workers can be reached: a host name or numeric address.
  std::uint64_t session = 0;  ///< Higher than in every earlier life of this node's agent.
  Inventory inventory;
  std::uint64_t folder_id = 0;  ///< Drawn once for its state folder; 0: it has none.
  bool unknown = false;         ///< No controller has ever welcomed the agent of that folder.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("link_version", self.link_version);
    v.field("program", self.program);
    v.field("node", self.node);
    v.field("group", self.group);
    v.field("address", self.address);
    v.field("session", self.session);
    v.field("inventory", self.inventory);
    v.field("folder_id", self.folder_id);
    v.field("unknown", self.unknown);
  }
};

/// One heartbeat and what goes with it.
struct Beat {
  NodeId node;
  Epoch epoch;
  std::uint64_t session = 0;
  std::uint64_t number = 0;
  Instant sent_at;  ///< On the agent's own clock; the renewal echoes it.
  bool registers = false;
  Sequence seen;
  std::vector<RunningWorker> workers;        ///< Everybody that runs there.
  std::vector<ProfilingChanged> measured;    ///< Latest values since the last beat.
  std::uint64_t lost_devices = 0;            ///< Registering: those that do not work now.
  Duration leaves_in = Duration::forever();  ///< Registering: the node goes away after that.
  bool held = false;                         ///< Registering: it can take no more work now.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("epoch", self.epoch);
    v.field("session", self.session);
    v.field("number", self.number);
    v.field("sent_at", self.sent_at);
    v.field("registers", self.registers);
    v.field("seen", self.seen);
    v.field("workers", self.workers);
    v.field("measured", self.measured);
    v.field("lost_devices", self.lost_devices);
    v.field("leaves_in", self.leaves_in);
    v.field("held", self.held);
  }
};

/// What became of single workers, in order.
struct Reports {
  std::vector<WorkersChanged> changes;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("changes", self.changes);
  }
};

/// What a worker or the node says otherwise: SubMasterSaid, ProgressReported, DevicesLost,
/// NodeLeaving (its `until` is in `leaves_in` here: clocks differ).
struct Fact {
  EventBody body;
  Duration age;  ///< How long ago it happened.
  Duration leaves_in = Duration::forever();

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("body", self.body);
    v.field("age", self.age);
    v.field("leaves_in", self.leaves_in);
  }
};

/// A sentence for the people who watch a job: why a worker could not start, the end of the log of
/// one that failed.
struct WorkerNotice {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  std::string sentence;
  std::string log_tail;  ///< At most 64 KiB; may be empty.
  bool failed = true;    ///< Whether it explains a failure; false: a warning.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("sentence", self.sentence);
    v.field("log_tail", self.log_tail);
    v.field("failed", self.failed);
  }
};

/// A piece of a worker's log, answering a LogRequest.
struct LogChunk {
  std::uint64_t request = 0;
  std::string data;         ///< At most 256 KiB.
  bool last = false;        ///< Nothing more comes.
  std::string error;        ///< With `last`: why there is no log, or no more of it.
  bool passing = false;     ///< With `error`: of the moment, so that asking again helps.
  std::int64_t begin = -1;  ///< Bytes of the log before `data`, those that are kept no longer
                            ///< included; -1: not known.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("data", self.data);
    v.field("last", self.last);
    v.field("error", self.error);
    v.field("passing", self.passing);
    v.field("begin", self.begin);
  }
};

/// What a node measured when it was checked; see CheckRequest.
struct CheckResult {
  std::uint64_t request = 0;
  Duration compute;
  Duration all_reduce;
  std::string error;  ///< Not empty: it failed, and why.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("compute", self.compute);
    v.field("all_reduce", self.all_reduce);
    v.field("error", self.error);
  }
};

/// What one worker shows to the controller's HTTP server; known to its agent alone. And where it
/// takes calls, once it has said so; docs/calls.md.
struct WorkerToken {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  std::string token;        ///< kWorkerTokenPrefix and 64 hexadecimal digits.
  std::int32_t port = 0;    ///< At which it takes calls; 0: it takes none yet.
  std::string certificate;  ///< Its SHA-256, 64 hexadecimal digits; empty: plaintext.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("token", self.token);
    v.field_since(5, "port", self.port);
    v.field_since(5, "certificate", self.certificate);
  }
};

inline constexpr std::string_view kWorkerTokenPrefix = "orrery_worker_";

/// Tokens of workers of the node: of all that run, after each Welcome; of one that starts, before
/// its program runs; of one that takes calls from now on, again. The last one said holds.
struct WorkerTokens {
  std::vector<WorkerToken> tokens;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("tokens", self.tokens);
  }
};

/// Alternatives are appended, never reordered: the index is the tag on the wire.
using AgentMessage =
    std::variant<Hello, Beat, Reports, Fact, WorkerNotice, LogChunk, CheckResult, WorkerTokens>;

// --- to an agent ---

/// The node is known. The agent takes its id and the controller's durations from here; with a
/// further Welcome, of a later controller, neither changes but the settings.
struct Welcome {
  Epoch epoch;
  NodeId node;
  Settings settings;
  std::string server_url;  ///< The controller's HTTP address, for workers; may be empty.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("epoch", self.epoch);
    v.field("node", self.node);
    v.field("settings", self.settings);
    v.field("server_url", self.server_url);
  }
};

/// The stream is of no use and will be closed.
struct Refusal {
  std::string reason;               ///< What was found, what was needed; how to mend it.
  bool again = true;                ///< Whether another try, later or elsewhere, may do better.
  std::string leader;               ///< Address of the controller that leads, where that is known.
  std::uint64_t session_above = 0;  ///< Not 0: an agent's next session must have a higher number.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("reason", self.reason);
    v.field("again", self.again);
    v.field("leader", self.leader);
    v.field("session_above", self.session_above);
  }
};

/// What a job is. Comes before the first order of the job on a stream.
struct JobKnown {
  JobId job;
  std::shared_ptr<const JobSpec> spec = std::make_shared<const JobSpec>();

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("spec", self.spec);
  }
};

/// Where the workers of a node are reached.
struct NodeAddress {
  NodeId node;
  std::string name;
  std::string address;

  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("name", self.name);
    v.field("address", self.address);
  }
};

/// All workers of one generation of a job. Comes before an order that starts workers of it or makes
/// them members.
struct Members {
  JobId job;
  Generation generation;
  std::vector<WorkerStart> workers;  ///< By rank; `birth_rank` is always set.
  std::vector<NodeAddress> nodes;    ///< Of all nodes that the workers are on.
  std::uint32_t restarts = 0;        ///< Of the job, charged to failures so far.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("workers", self.workers);
    v.field("nodes", self.nodes);
    v.field_since(5, "restarts", self.restarts);
  }
};

/// An order of the core. StartWorkers and StopWorkers hold the node's own workers only.
struct Order {
  Sequence sequence;
  std::uint32_t index = 0;
  Epoch epoch;
  CommandBody body;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("sequence", self.sequence);
    v.field("index", self.index);
    v.field("epoch", self.epoch);
    v.field("body", self.body);
  }
};

/// The lease is renewed: the controller has heard the heartbeat that left at `sent_at`.
struct Renewal {
  Epoch epoch;
  Instant sent_at;  ///< The agent's clock.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("epoch", self.epoch);
    v.field("sent_at", self.sent_at);
  }
};

/// The controller is of another epoch than the agent's last: it must register first.
struct Announcement {
  Epoch epoch;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("epoch", self.epoch);
  }
};

/// Asks for a worker's log, from its tail on, and if `follow` for what is added until the worker
/// ends. A further request with the same id and `cancel` ends it.
struct LogRequest {
  std::uint64_t request = 0;
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  std::uint64_t tail_bytes = 0;  ///< 0: all that is kept.
  bool follow = false;
  bool cancel = false;
  bool previous = false;        ///< Not that start of the worker, but the one before it there:
  RoleIndex role;               ///< of the replica with this role
  std::int32_t local_rank = 0;  ///< and this index inside it.
  std::int64_t since = 0;       ///< Its first bytes are left out, where it is known which they are.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("tail_bytes", self.tail_bytes);
    v.field("follow", self.follow);
    v.field("cancel", self.cancel);
    v.field("previous", self.previous);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("since", self.since);
  }
};

/// Asks for a round of the node check: compute alone, then an all-reduce with `peers`.
struct CheckRequest {
  std::uint64_t request = 0;
  std::int32_t round = 1;
  std::int32_t rank = 0;           ///< Its own among the peers.
  std::vector<std::string> peers;  ///< Addresses by rank, its own included; one: compute only.
  std::int32_t port = 0;           ///< At which rank 0 listens.
  Duration deadline = Duration::seconds(300);

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("round", self.round);
    v.field("rank", self.rank);
    v.field("peers", self.peers);
    v.field("port", self.port);
    v.field("deadline", self.deadline);
  }
};

/// Alternatives are appended, never reordered.
using ControllerMessage = std::variant<Welcome,
                                       Refusal,
                                       JobKnown,
                                       Members,
                                       Order,
                                       Renewal,
                                       Announcement,
                                       LogRequest,
                                       CheckRequest>;

/// The heartbeat that a beat brings.
Heartbeat heartbeat_of(const Beat& beat);

/// A heartbeat as a message; what goes with it is still to be added.
Beat beat_of(const Heartbeat& heartbeat);

/// One message in bytes: its tag and its fields, in the record version of this program.
std::string encode(const AgentMessage& message);
std::string encode(const ControllerMessage& message);

/// The message in `bytes`, which are not trusted; false where there is none, or more than
/// one.
bool decode(std::string_view bytes, AgentMessage& message);
bool decode(std::string_view bytes, ControllerMessage& message);

}  // namespace orrery::runtime
