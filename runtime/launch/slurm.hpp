// An agent inside an allocation of Slurm: what Slurm's variables say about the node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/config/config.hpp"

namespace orrery::runtime {

/// A variable by its name; nothing where it is not set.
using Variables = std::function<std::optional<std::string>(std::string_view name)>;

/// What an agent under Slurm runs with.
struct SlurmNode {
  AgentConfig config;
  std::string job;              ///< Slurm's number of it.
  std::string visible_devices;  ///< For CUDA_VISIBLE_DEVICES of the agent: indices; empty: as is.
  Instant ends;                 ///< When Slurm ends the job, since the Unix epoch; never: not told.
};

/// Puts what Slurm says in place of the settings, which are the same on every node:
///
///     node        SLURM_JOB_NAME-SLURM_ARRAY_TASK_ID in an array, so that a task that is requeued
///                 elsewhere is a new machine in the old one's place; else SLURMD_NODENAME
///     inventory   cpu: SLURM_CPUS_ON_NODE; memory: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times
///                 the CPUs; devices: SLURM_STEP_GPUS, else SLURM_JOB_GPUS, as long as settings
///                 pretend no devices
///     address     `host`, where controllers are elsewhere and the setting is a loopback address
///     state       orrery-JOB-NODE in TMPDIR, else /tmp, where it is the default; else a folder
///                 NODE in it
///     at exit     workers end with the agent: nothing outlives the allocation
///
/// Nothing is taken from a variable that is not set. `host`: this machine's name or address.
/// Errors, all at once: no allocation (SLURM_JOB_ID is missing), no name, values that are unsound.
Result<SlurmNode> slurm_node(const AgentConfig& config,
                             const Variables& variables,
                             const std::string& host);

/// How long the node remains after a notice: until `ends`, at least 0; where that is not known,
/// Slurm's own default between SIGTERM and SIGKILL (30 s).
Duration slurm_remaining(const SlurmNode& node, Instant now);

/// The variables of this process.
Variables own_variables();

}  // namespace orrery::runtime
