#include "runtime/agent/container_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace orrery::runtime {
namespace {

/// Whether this program has the very variable: then it tells of the host, not of the worker.
bool is_ours(std::string_view variable) {
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (variable == *entry) return true;
  return false;
}

}  // namespace

std::vector<std::string> container_command(const ContainerParts& parts,
                                           const WorkerLaunch& launch) {
  std::vector<std::string> out{parts.runtime, "run", "--rm", "--network=host"};
  out.push_back("--name=orrery-" + launch.token);
  out.push_back("--workdir=" + launch.working_directory);
  out.push_back("--volume=" + parts.folder + ":" + parts.folder);
  out.push_back("--volume=" + parts.socket + ":" + parts.socket);
  // By name alone: the runtime takes the value from its own environment, where no process list
  // shows it.
  for (const std::string& variable : launch.environment)
    if (!is_ours(variable)) out.push_back("--env=" + variable.substr(0, variable.find('=')));
  out.push_back(parts.image);
  out.insert(out.end(), launch.command.begin(), launch.command.end());
  return out;
}

void add_container_volumes(const std::vector<Volume>& volumes,
                           const std::string& work,
                           WorkerLaunch& launch) {
  for (const Volume& volume : volumes) {
    const std::string target = volume.is_relative() ? work + "/" + volume.target : volume.target;
    launch.command.insert(
        launch.command.begin() + 2,
        volume.in_memory ? "--tmpfs=" + target : "--volume=" + volume.source + ":" + target);
  }
}

}  // namespace orrery::runtime
