// What a search for a placement starts from: the parts of a job's loop, its roles, and the nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// What a part of a turn does; turns have them in this order.
enum class LoopPart : std::uint8_t { Generate, Reward, Inference, Train };

/// A role that does parts of the turn.
struct SearchedRole {
  std::string name;
  std::int32_t width = 0;      ///< Devices of a replica; 0: it is on none, and is not placed.
  std::int32_t reference = 1;  ///< Replicas that the times are of.
  std::int32_t min_replicas = 1;
  std::int32_t max_replicas = 1;  ///< At least `min_replicas`.
  std::string device_model;       ///< That it needs; empty: any.

  bool is_placed() const { return width > 0; }
};

/// A part with the role that does it.
struct SearchedPart {
  LoopPart part = LoopPart::Generate;
  std::int32_t role = 0;  ///< Index into `SearchedJob::roles`.
};

/// A node of the cluster; its id is its index.
struct SearchedNode {
  std::int32_t devices = 0;
  std::int32_t first_device = 0;  ///< Of it, numbered through all nodes.
  double speed = 1;
  std::string model;
};

/// All that a search needs to know.
struct SearchedJob {
  std::string name;
  const scenarios::Scenario* scenario = nullptr;  ///< Outlives the job.
  const scenarios::LoopSpec* loop = nullptr;      ///< Of the scenario.
  scenarios::SearchSpec limits;
  std::vector<SearchedRole> roles;  ///< In the order of their first part.
  std::vector<SearchedPart> parts;  ///< In the order of `LoopPart`; generate first, train last.
  std::vector<SearchedNode> nodes;  ///< With those devices alone that may be used: the first ones.
  std::int32_t devices = 0;         ///< Of all nodes.

  /// Whether two roles may not share a device.
  bool are_apart(std::int32_t role, std::int32_t other) const;
};

/// The job of the scenario that has a loop; `name` chooses one of several, empty: there is one.
/// Errors: no such job, a job that states no times, roles that cannot be searched for.
Result<SearchedJob> searched_job(const scenarios::Scenario& scenario, std::string_view name);

}  // namespace orrery::sim

namespace orrery {

template <>
struct EnumNames<sim::LoopPart> {
  static constexpr std::array kNames{"generate", "reward", "inference", "train"};
};

}  // namespace orrery
