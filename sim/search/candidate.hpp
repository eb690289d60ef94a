// One way to place the roles of a loop: which share devices, how many devices each has, where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/placement/plan.hpp"
#include "sim/search/searched_job.hpp"
#include "sim/steps/gang.hpp"

namespace orrery::sim {

/// Roles that share devices.
struct Pool {
  std::vector<std::int32_t> roles;  ///< Indices into `SearchedJob::roles`, ascending; at least one.
  std::int32_t devices = 0;         ///< At least 1.

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// How pools lie on the nodes.
enum class PoolLayout : std::uint8_t {
  Packed,   ///< One after the other, node by node.
  Aligned,  ///< The same, but one that would cross into another node begins there.
  Spread,   ///< Each has as many devices of each of the nodes.
};

/// What is chosen.
struct Candidate {
  std::vector<Pool> pools;  ///< In their order on the devices.
  /// The role that generates is on the devices of all pools, and in none.
  bool generates_everywhere = false;
  PoolLayout layout = PoolLayout::Packed;
  std::int32_t first_node =
      0;  ///< Where the first pool begins: an index into `SearchedJob::nodes`.
  std::int32_t micro_batches = 1;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Consecutive devices of one node.
struct DeviceRun {
  std::int32_t node = 0;   ///< Index into `SearchedJob::nodes`.
  std::int32_t first = 0;  ///< On the node.
  std::int32_t devices = 0;

  friend bool operator==(const DeviceRun&, const DeviceRun&) = default;
};

/// The number of its first device through all nodes.
std::int32_t first_device(const SearchedJob& job, const DeviceRun& run);

/// Where a role's replicas are.
struct RolePlaces {
  std::vector<DeviceRun> runs;  ///< By node, each a whole number of replicas; empty: on no device.
  std::int32_t replicas = 0;
  double speed = 1;  ///< Of the slowest of its devices.

  std::int32_t devices() const;
  std::vector<NodeDevices> nodes() const;
};

/// The places of each role; nothing where the candidate cannot be: too few devices on a node for a
/// replica, too few replicas, another model of devices than a role needs.
std::optional<std::vector<RolePlaces>> place_roles(const SearchedJob& job,
                                                   const Candidate& candidate);

/// Whether two roles have a device in common.
bool share_devices(const RolePlaces& one, const RolePlaces& other);

/// Devices that a role is on at least, each counted once: a pool may be larger than its replicas.
std::int32_t devices_held(const std::vector<RolePlaces>& roles);

/// Collocated: all pools are one. Disaggregated: no role shares a device. Hybrid: all else.
placement::Mode mode_of(const Candidate& candidate);

/// The runs in the language of placements, with process ranks: "0-3:0-1,8-11:2-3". Devices are
/// numbered through all nodes.
std::string placement_text(const SearchedJob& job, const RolePlaces& places, std::int32_t width);

}  // namespace orrery::sim
