// Units of systemd that keep the daemons running.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"

namespace orrery::runtime {

/// What a unit says beside the settings of the daemon.
struct UnitSpec {
  std::string program;  ///< Absolute path of the program with the verbs.
  std::string config;   ///< Absolute path of the settings file; empty: the defaults.
  std::string user;     ///< The user that runs it; empty: root for agents, a user of the unit's own
                        ///< for controllers (DynamicUser).
};

/// The unit of an agent: when it ends or is upgraded its workers run on, and the next one adopts
/// them. Its hardening leaves workers what they need (devices, /tmp, homes, shared memory, locked
/// memory) and leaves setuid programs alone where containers need them. Errors: a path that is not
/// absolute or holds a line break.
Result<std::string> agent_unit(const UnitSpec& spec, const AgentConfig& config);

/// The unit of a controller, closed as far as it goes. With a relaunch_command it is opened for
/// what that may do.
Result<std::string> controller_unit(const UnitSpec& spec, const ControllerConfig& config);

}  // namespace orrery::runtime
