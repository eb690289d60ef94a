// Which ports services of worker groups listen on: bands that no two kinds of service share, all
// below the lowest port that an operating system may hand out by itself (9000 on some nodes).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"

namespace orrery::workers {

/// Ports first, first + 1, ... end - 1 of every node.
struct PortBand {
  std::string_view service;
  std::int32_t first = 0;
  std::int32_t end = 0;

  constexpr bool contains(std::int32_t port) const { return first <= port && port < end; }
};

/// First port that is not ours.
inline constexpr std::int32_t kPortLimit = 9000;

/// Where the rank 0 of a worker group, or of a job, listens for its peers.
inline constexpr PortBand kMasterPorts{"master", 1400, 2000};

/// Where engines listen, kPortsPerEngine each.
inline constexpr PortBand kEnginePorts{"engine", 7000, 9000};

/// All bands, ascending. Those without a function here are for services that workers start.
inline constexpr std::array kPortBands{
    PortBand{"generation router", 1202, 1300},
    PortBand{"generation control", 1313, 1400},
    kMasterPorts,
    PortBand{"generation", 3000, 5000},
    PortBand{"environment", 5000, 6000},
    PortBand{"sandbox", 6000, 7000},
    kEnginePorts,
};

/// Ports of one engine: it goes upwards from its first one where that is taken.
inline constexpr std::int32_t kPortsPerEngine = 100;

/// Engines that one node has ports for.
inline constexpr std::int32_t kEnginesPerNode =
    (kEnginePorts.end - kEnginePorts.first) / kPortsPerEngine;

/// Where an engine begins: its leader's node and the first device that it has there.
struct EngineSeat {
  NodeId node;
  std::int32_t first_device = 0;
};

/// Index of each engine among those that begin on its node, in the order of first devices, then of
/// the list. An engine that goes on on other nodes counts on the first only. `engines` are all that
/// may live at one time, of all worker groups.
std::vector<std::int32_t> engine_indexes(std::span<const EngineSeat> engines);

/// 7000 + 100 x index. Refused from kEnginesPerNode on.
Result<std::int32_t> engine_port(std::int32_t engine_index);

/// The master band's ports in turn: two jobs share one only where hundreds were accepted in
/// between.
std::int32_t master_port(JobId job);

}  // namespace orrery::workers
