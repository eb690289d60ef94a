// Stretches of time on devices, laid side by side where they overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// Gives each stretch the first lane of its device that is free. Only shared devices need more than
/// lane 0.
class DeviceLanes {
 public:
  explicit DeviceLanes(std::size_t devices) : free_at_(devices) {}

  /// The lane of a stretch on a device, from 0; stretches come in order of `from`.
  std::uint32_t place(std::uint32_t device, Instant from, Instant to) {
    std::vector<Instant>& lanes = free_at_[device];
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      if (lanes[lane] > from) continue;
      lanes[lane] = to;
      return lane;
    }
    lanes.push_back(to);
    return static_cast<std::uint32_t>(lanes.size() - 1);
  }

  /// How many lanes a device has come to need.
  std::size_t count(std::uint32_t device) const { return free_at_[device].size(); }

 private:
  std::vector<std::vector<Instant>> free_at_;  // [device][lane]
};

}  // namespace orrery::sim
