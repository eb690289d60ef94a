// What a process is told by its environment, read with all that is wrong at once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/directory.hpp"
#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/membership.hpp"

namespace orrery::sdk::detail {

/// The value of a variable; nothing where it is not set or empty.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

std::optional<std::string> process_variable(std::string_view name);

/// What the agent tells a worker.
struct WorkerStart {
  std::string worker;
  std::string job;
  std::string role;
  std::string token;
  std::string socket;  ///< Empty: there is no agent.
  std::string call_address = "127.0.0.1";
  std::string call_certificate;  ///< A PEM file; empty: plain.
  std::string server_url;        ///< Empty: no controller was known at the start.
  std::string server_url_file;   ///< Holds the address of the one that leads now; perhaps empty.
  std::string ca;
  Membership membership;  ///< As of the start, without members.
};

/// Throws BadSettings.
WorkerStart worker_start(const Environment& environment);

/// Where and as whom a driver asks; throws BadSettings.
DirectoryAccess driver_access(DriverOptions options, const Environment& environment);

/// The membership in a line of the agent, or in the file ORRERY_MEMBERSHIP; nothing where it is
/// none.
std::optional<Membership> membership_in(std::string_view line);

}  // namespace orrery::sdk::detail
