// An agent inside an allocation of Slurm: what Slurm's variables say about the node.
#pragma once

#include <cstdint>
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
  std::string job;                      ///< Slurm's number of it.
  std::optional<std::int32_t> granted;  ///< How many devices Slurm has given to it, where it says.
  Instant ends;     ///< When Slurm ends the job, since the Unix epoch; never: not told.
  Duration notice;  ///< How long before its end Slurm gives notice, where it does.
};

/// Puts what Slurm says in place of the settings, which are the same on every node:
///
///     node        SLURM_JOB_NAME-SLURM_ARRAY_TASK_ID in an array, so that a task that is requeued
///                 elsewhere is a new machine in the old one's place; else SLURMD_NODENAME
///     inventory   cpu: SLURM_CPUS_ON_NODE; memory: SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times
///                 the CPUs; devices: what is found (see check_granted), none where there is no
///                 word of GPUs. Devices that settings pretend become as many as are granted: by
///                 SLURM_STEP_GPUS, else SLURM_JOB_GPUS, else SLURM_GPUS_ON_NODE
///     address     `host`, where controllers are elsewhere and the setting is a loopback address
///     state       orrery-JOB-NODE in TMPDIR, else /tmp, where it is the default; else a folder
///                 NODE in it
///     at exit     workers end with the agent: nothing outlives the allocation
///     notice      ORRERY_SLURM_NOTICE, in seconds: what the batch script asks for with --signal
///
/// Nothing is taken from a variable that is not set. `host`: this machine's name or address.
/// Errors, all at once: no allocation (SLURM_JOB_ID is missing), no name, values that are unsound.
Result<SlurmNode> slurm_node(const AgentConfig& config,
                             const Variables& variables,
                             const std::string& host);

/// Errors: the node offers more devices than Slurm has granted, so Slurm does not confine the job
/// to its own, and workers would use those of others. `found`: devices in the inventory.
Status check_granted(const SlurmNode& node, std::size_t found);

/// What a signal to an agent under Slurm announces.
enum class SlurmSignal {
  Notice,  ///< SIGUSR1, which `sbatch --signal=USR1@SECONDS` sends before the time limit.
  End,     ///< SIGTERM: the job is cancelled, preempted or at its limit; SIGKILL follows.
};

/// How long the node remains after a signal: until `ends`, else for the notice asked for; after
/// SIGTERM for Slurm's default of KillWait, 30 s.
Duration slurm_remaining(const SlurmNode& node, SlurmSignal signal, Instant now);

/// The variables of this process.
Variables own_variables();

}  // namespace orrery::runtime
