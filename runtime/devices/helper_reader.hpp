// Devices read by the program orrery-devices: for static agents, which cannot open NVML, and so
// that a driver that hangs, hangs the program and not the agent.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/devices/device_reading.hpp"

namespace orrery::runtime {

/// Starts `program` with `library` as for open_nvml, and waits for its list of devices. A program
/// that ends or is silent for `patience` is killed and started again at the next reading, and until
/// it answers no device does. A device that is not there any more does not answer either. Errors:
/// as open_nvml's; Unavailable where the program cannot be started or says nothing in time.
Result<std::unique_ptr<DeviceReader>> open_helper(const std::string& program,
                                                  const std::string& library,
                                                  Duration patience = Duration::seconds(10));

/// "orrery-devices" beside the program that runs; empty where there is none.
std::string helper_beside_this_program();

}  // namespace orrery::runtime
