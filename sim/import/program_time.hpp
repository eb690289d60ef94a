// How long a program takes with the network to itself: the ideal formula.
#pragma once

#include <cstdint>

#include "scenarios/language/spec/network_spec.hpp"
#include "scenarios/language/spec/step_spec.hpp"

namespace orrery::sim {

/// Work that takes no time at all is given this much: a job's work is above zero.
inline constexpr double kLeastSeconds = 1e-9;

/// Seconds of one stage on `ranks` nodes. Compute and transfers go on side by side, every node's
/// link carries its bytes at full bandwidth in each direction at the same time, and so does the
/// storage: the longest of them counts. Latency is left out. `flops` is the speed of each node in
/// floating point operations per second; 0: compute takes no time.
double stage_alone_s(const scenarios::ProgramStage& stage,
                     std::int32_t ranks,
                     const scenarios::NetworkSpec& network,
                     double flops);

/// The sum over a program's stages.
double program_alone_s(const scenarios::Program& program,
                       std::int32_t ranks,
                       const scenarios::NetworkSpec& network,
                       double flops);

}  // namespace orrery::sim
