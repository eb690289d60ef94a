// The variables by which the workers of a DI-engine job find each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// One worker as its peers reach it.
struct DiWorker {
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  std::string host;  ///< Name or address as it stands in a URL (IPv6 in brackets). Not looked at
                     ///< where the membership has a domain.
  std::int32_t first_port = 0;  ///< Of its `parallel_workers` ports; 0: none was given.
};

/// One membership of a job: all that the variables are made of.
struct DiMembership {
  std::string job;  ///< "namespace.name".
  JobFamily family = JobFamily::Tasks;
  Generation generation;
  Topology topology = Topology::Star;
  std::int32_t parallel_workers = 1;  ///< Listening processes of each worker, at least 1.
  std::string server_url;             ///< "http://host:8081"; empty: there is no server.
  std::string domain;  ///< "svc.cluster.local" where each worker has a pod of its own with a name
                       ///< in it; empty: workers are reached at `DiWorker::host`.
  std::vector<std::string> roles;  ///< Names, by RoleIndex.
  std::vector<DiWorker> workers;   ///< By rank.
};

/// What a specification says of a membership, still without generation, server and workers.
DiMembership membership_of(const JobSpec& spec);

/// The name or address at which the peers reach the worker: with a domain
/// `<pod>.di-<job>.<namespace>.<domain>`, where the pod of the group family is called
/// `<job>-<generation>-<rank>` and any other `<job>-<role>-<local rank>`.
std::string host_of(const DiMembership& membership, Rank rank);

/// Gives ports to workers that have none: on each host the lowest block from `kPortFirst` that no
/// worker of the membership has, in order of rank; a block has one port more than its worker
/// listens at, its master port (port_demand.hpp). So workers with pods of their own all get the
/// first. False where a host has too few below `kPortEnd`: workers are left without.
[[nodiscard]] bool give_missing_ports(DiMembership& membership);

/// The variables of one worker, in a fixed order; none for the native family. All workers must
/// have ports. They describe the membership at the worker's start and are not renewed: a worker
/// that survives a change of membership learns the new one from its agent or from the server, never
/// from here. Cost: the length of the values, which name every worker.
///
/// Both families: DI_JOB_ID `namespace/name`, DI_JOB_GENERATION, DI_SERVER_URL (where there is a
/// server).
///
/// Tasks: DI_RANK; DI_NODES, the hosts of all workers by rank; DI_NODE_PORTS, their first ports in
/// the same order; and for every role DI_<ROLE>_NODES, the hosts of its workers, with the name in
/// upper case and '_' for '-'.
///
/// Group: whole options of DI-engine's command line, P being the parallel workers.
/// DI_PARALLEL_WORKERS_ARG `--parallel-workers=P`; DI_PORTS_ARG `--ports=` its P ports;
/// DI_NODE_IDS_ARG `--node-ids=` rank * P to rank * P + P - 1; DI_ATTACHED_NODES_ARG `--attach-to=`
/// the peers that it connects to as `tcp://host:port`, or empty: none in topology alone and at rank
/// 0, rank 0's first port in star, all ports of all lower ranks in mesh.
std::vector<KeyValue> di_environment(const DiMembership& membership, Rank rank);

}  // namespace orrery
