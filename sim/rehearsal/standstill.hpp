// How long a change of membership made the work of a job stand still.
#pragma once

#include <span>

#include "core/base/units.hpp"

namespace orrery::sim {

/// The speed of a job's work from an instant on, up to the next such stretch.
struct WorkStretch {
  Instant from;
  double rate = 0;  ///< Units per second, pauses aside.
};

/// The shortest pause after each of `changes` that explains why, from the first of `stretches` to
/// `to`, only `units` were done; to the nanosecond. Zero: nothing is missing, but for a
/// microsecond. Both are in the order of time; changes may lie before the first stretch. Where the
/// work stood still from the last change on, the pause may be longer.
Duration pause_of_each(std::span<const WorkStretch> stretches,
                       std::span<const Instant> changes,
                       double units,
                       Instant to);

}  // namespace orrery::sim
