// What an independent checker may listen to in a world of agents: processes, nodes, leases, and the
// orders on their way. Leaders, the journal and what is durable are in sim/control/host_watch.hpp.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/record/command.hpp"

namespace orrery::sim {

/// One worker process, as ground truth. Job, incarnation and birth rank are its lasting name.
struct WorldProcess {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  Generation born;        ///< Generation of its birth rank.
  Generation generation;  ///< That it knows now.
  Rank rank;              ///< In it.
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  NodeId node;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;                ///< Of the one device.
  JobId beside;               ///< The job on whose devices it was put; none: on its own.
};

/// Told what truly happens, in its order, at the world's time; must not call back into the world.
class WorldTap {
 public:
  virtual ~WorldTap() = default;

  /// A process was created, and holds its devices from now on.
  virtual void on_process_started(Instant, const WorldProcess&) {}

  /// A process was told its place in a new membership.
  virtual void on_process_moved(Instant, const WorldProcess&) {}

  /// A process is gone, however it ended: its devices are free. Or it was killed while the kernel
  /// holds it: it does nothing more. Then it is told again when it is gone.
  virtual void on_process_ended(Instant, const WorldProcess&) {}

  /// A process is asked to stop, or killed, by its agent or the shim. A killed one is told to have
  /// ended next.
  virtual void on_signal(Instant, const WorldProcess&, bool kill) { static_cast<void>(kill); }

  /// An order goes out to a node's agent; `knows_job` and `knows_members`: it was told what the job
  /// is, and who the members of its present generation are, on this connection. True where the
  /// leader has forgotten the job.
  virtual void on_order_sent(Instant, NodeId, const Command&, bool knows_job, bool knows_members) {
    static_cast<void>(knows_job);
    static_cast<void>(knows_members);
  }

  /// An order arrived at the agent of a node, which may still refuse it.
  virtual void on_order_heard(Instant, NodeId, const Command&) {}

  /// The lease of a node's agent as the shim's fence knows it, on the world's clock.
  virtual void on_lease(Instant, NodeId, Epoch, Instant until) { static_cast<void>(until); }

  /// The lease of the node is over and its workers are being killed; by the shim where the agent is
  /// dead.
  virtual void on_fenced(Instant, NodeId, bool by_shim) { static_cast<void>(by_shim); }

  virtual void on_node(Instant, NodeId, bool up) { static_cast<void>(up); }

  virtual void on_agent(Instant, NodeId, bool up) { static_cast<void>(up); }
};

}  // namespace orrery::sim
