// What orrery-devices and an agent say to each other, in lines: the program reads devices for an
// agent that cannot or should not open NVML itself.
//
//   the program, first     device MODEL UUID BUS_ID BYTES NUMA   for each device, then: ready
//                          or: failed CODE WORDS                 and it ends
//   the agent              read
//   the program            reading ANSWERS ECC HOT TROUBLE       for each device, then: end
//                          xid DEVICE NUMBER                     whenever one comes, not in between
//
// "-" stands for an empty word.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/devices/device_reading.hpp"

namespace orrery::runtime {

std::string device_line(const FoundDevice& device);
std::string reading_line(const DeviceReading& reading);
std::string xid_line(const DeviceXid& xid);
std::string failed_line(const Error& error);

/// The line without its end; nothing where it is another one or broken.
std::optional<FoundDevice> parse_device_line(std::string_view line);
std::optional<DeviceReading> parse_reading_line(std::string_view line);
std::optional<DeviceXid> parse_xid_line(std::string_view line);
std::optional<Error> parse_failed_line(std::string_view line);

}  // namespace orrery::runtime
