// What was learned of a cluster's times, as people read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/console/console.hpp"

namespace orrery::cli {

/// One time; quantiles in seconds.
struct CalibrationRow {
  std::string name;
  std::uint64_t samples = 0;
  double p10_s = 0;
  double p50_s = 0;
  double p90_s = 0;
  std::optional<double> error_p50;  ///< Of samples that were held out, 1 is as much as the time.
  std::optional<double> inside;     ///< Part of them between p10 and p90.
};

std::string calibration_table(const std::vector<CalibrationRow>& rows, const ConsoleTraits& traits);

}  // namespace orrery::cli
