// The variables that tell a worker of each family its identity. Every list is in a fixed order
// and names each variable once; docs/worker_environment.md has them in tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_enums.hpp"
#include "core/job/spec.hpp"
#include "core/workers/membership.hpp"

namespace orrery::workers {

/// ORRERY_*: names in the job and the role, places on nodes, devices, hardware, bundles.
std::vector<KeyValue> orrery_variables(const Membership& worker);

/// What torchrun sets. Without a known master no MASTER_*, without a known restart count no
/// TORCHELASTIC_*, without a known role no ROLE_WORLD_SIZE.
std::vector<KeyValue> torch_variables(const Membership& worker);

/// What RLinf sets at the launch of a worker and what the worker then adds to it.
std::vector<KeyValue> rlinf_variables(const Membership& worker);

/// What a NeMo-RL worker group sets for each worker.
std::vector<KeyValue> nemo_rl_variables(const Membership& worker);

/// What DLRover Unified sets for a worker of an elastic workload.
std::vector<KeyValue> dlrover_variables(const Membership& worker);

/// The lists that the family's workers have, one after the other.
std::vector<KeyValue> family_variables(WorkerFamily family, const Membership& worker);

/// What the family's workers have unless another layer, also the node's, sets it.
std::vector<KeyValue> default_variables(WorkerFamily family, DeviceVendor vendor);

/// What they have unless their user says otherwise: the network interface of collectives.
std::vector<KeyValue> suggested_variables(WorkerFamily family, const Membership& worker);

/// Every name that `family_variables` may give, ascending: no other layer may give them.
std::vector<std::string_view> reserved_names(WorkerFamily family);

/// Prefixes of names that the family's workers must not inherit from a launcher around the daemon.
std::vector<std::string_view> kept_out_prefixes(WorkerFamily family);

}  // namespace orrery::workers
