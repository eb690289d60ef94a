// What one worker is and where it sits: all that its environment is computed from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/cluster/resources.hpp"
#include "core/workers/visibility.hpp"

namespace orrery::workers {

/// Where a worker listens.
struct Endpoint {
  std::string address;    ///< Name or address; empty: not known.
  std::int32_t port = 0;  ///< 0: not known.

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// A worker's place among its peers: all workers of its job, or those of its role. It is one of
/// them.
struct PeerPlace {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::int32_t node = 0;        ///< Index of its node among those of its peers, by first appearance
                                ///< in the order of ranks.
  std::int32_t nodes = 1;       ///< Nodes of its peers.
  std::int32_t local_rank = 0;  ///< Among its peers on its node, by rank.
  std::int32_t local_size = 1;  ///< Peers on its node.

  friend bool operator==(const PeerPlace&, const PeerPlace&) = default;
};

/// The place of every rank, from the node of every rank (any numbering of nodes).
std::vector<PeerPlace> places_of(std::span<const std::int32_t> node_by_rank);

/// How often a worker group was started again.
struct Restarts {
  std::int32_t count = 0;
  std::int32_t most = 0;  ///< The backoff limit.
};

/// What a worker that is part of a worker group knows of it.
struct GroupMembership {
  std::string prefix;                 ///< Name of the group.
  std::int32_t logical_node = -1;     ///< Of its virtual cluster; -1: the group is on none.
  std::vector<std::int32_t> bundles;  ///< Those of its tied group if it leads one, else none.
  std::shared_ptr<const std::vector<Endpoint>> endpoints;  ///< Of all its workers by rank; null:
                                                           ///< not known.
  std::int32_t engine_port = 0;  ///< Leaders of engines; 0: it has no engine.
};

/// One worker of one generation.
struct Membership {
  std::string job;         ///< "default.resnet".
  std::string role;        ///< RLinf's component, NeMo-RL's worker group.
  std::string group_name;  ///< What RLinf and NeMo-RL call it; empty: as the role.
  Generation generation;
  Incarnation incarnation;
  PeerPlace in_job;
  std::optional<PeerPlace> in_role;  ///< Empty: only `role_rank` is known.
  std::int32_t role_rank = 0;        ///< Index inside the role.
  Endpoint job_master;               ///< Where the job's rank 0 listens for its peers.
  Endpoint role_master;              ///< Where the role's rank 0 does.
  std::int32_t cluster_node = 0;     ///< Number of its node in the cluster.
  DeviceVendor vendor = DeviceVendor::Nvidia;
  std::string device_model;     ///< Of its node; may be empty.
  std::string custom_variable;  ///< That shows devices of DeviceVendor::Custom; may be empty.
  DeviceView devices;           ///< What it holds and sees of its node.
  bool isolate = true;  ///< Whether it was asked to see its own accelerators only. One that holds
                        ///< none may see the node's all the same.
  std::vector<std::int32_t> hardware;  ///< Pieces of custom hardware that it holds, ascending.
  std::string node_group = "cluster";  ///< Label of the group that it was placed on.
  std::string cluster_namespace;       ///< In which peers look each other up; empty: `job`.
  std::string network_interface;       ///< That collectives use; empty: they choose.
  std::string interpreter;             ///< Path of its Python; empty: the system's.
  bool catch_failures = false;         ///< Whether the worker catches signals and exits itself.
  std::optional<Restarts> restarts;    ///< Empty: not known.
  GroupMembership group;

  /// What RLinf and NeMo-RL call the worker's group.
  const std::string& shown_group() const { return group_name.empty() ? role : group_name; }
};

/// Rank and size of a worker on its node as libraries understand them: they take the rank for the
/// index of the worker's device.
struct LocalPlace {
  std::int32_t rank = 0;
  std::int32_t size = 1;
};

/// A worker that sees its own devices only is alone: 0 of 1. One that sees more has the in-process
/// index of its first device. One without devices has its place among its peers.
LocalPlace local_place(const DeviceView& devices, const PeerPlace& place);

}  // namespace orrery::workers
