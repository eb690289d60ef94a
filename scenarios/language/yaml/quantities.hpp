// Numbers with units as they stand in scenario files and Kubernetes manifests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/units.hpp"

namespace orrery::scenarios {

/// "90s", "5min", "2h", "1d", "250ms", "10us", "3ns", "1.5h": exact, rounded down to nanoseconds.
/// The unit is always needed. Nothing for anything else, and beyond 292 years.
std::optional<Duration> parse_duration(std::string_view text);

/// "16GiB", "512MiB", "1.5TB", "64B": B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB.
std::optional<Bytes> parse_size(std::string_view text);

/// "2", "0.5" cores or "500m".
std::optional<MilliCpu> parse_cpu(std::string_view text);

/// Kubernetes' memory quantity: "2Gi", "512Mi", "1000000", "1G", "500M".
std::optional<Bytes> parse_kubernetes_size(std::string_view text);

/// "400Gb/s", "100Gbit/s", "50GB/s", "25GiB/s": bytes per second. Small b and "bit" are bits; the
/// prefixes of sizes, with a small k ("kb/s"). Nothing for anything else.
std::optional<double> parse_bandwidth(std::string_view text);

/// "989TFLOPS", "1.5PFLOPS": floating point operations per second, with M, G, T or P.
std::optional<double> parse_compute(std::string_view text);

/// Devices: a whole number, or a part of one device in thousandths ("0.5").
struct DeviceAmount {
  std::int32_t devices = 0;
  Share share;
};

std::optional<DeviceAmount> parse_devices(std::string_view text);

std::optional<std::int64_t> parse_integer(std::string_view text);

/// A finite decimal number.
std::optional<double> parse_number(std::string_view text);

}  // namespace orrery::scenarios
