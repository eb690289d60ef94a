// A worker inside a container: the command line of the runtime that makes it.
#pragma once

#include <string>
#include <vector>

#include "runtime/agent/volumes.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// What a container is made of beside its launch.
struct ContainerParts {
  std::string runtime;  ///< Program that understands podman's options.
  std::string image;
  std::string folder;  ///< The worker's,
  std::string socket;  ///< and the agent's socket: both seen at the same paths inside.
};

/// "RUNTIME run --rm ... IMAGE COMMAND": on the host's network, with every variable of the launch
/// that this program does not have itself, and all of its command. The runtime is a child of the
/// shim like any worker.
std::vector<std::string> container_command(const ContainerParts& parts, const WorkerLaunch& launch);

/// Adds volumes to such a command; a relative target lies in `work`.
void add_container_volumes(const std::vector<Volume>& volumes,
                           const std::string& work,
                           WorkerLaunch& launch);

}  // namespace orrery::runtime
