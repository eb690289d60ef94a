// Pools of a model-parallel placement: the devices of one component, comparable across node groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/component_rules.hpp"
#include "core/placement/rank_text.hpp"
#include "core/placement/selection.hpp"

namespace orrery::placement {

/// Devices `first` to `last` of one node.
struct DeviceSpan {
  std::string_view type;
  std::int32_t node_rank = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend auto operator<=>(const DeviceSpan&, const DeviceSpan&) = default;
};

/// The devices behind ranks of a selection: sorted, each once.
std::vector<DeviceSpan> devices_of(const Selection& selection, RankRange ranks);

/// The devices of all entries of a sound rule, as above.
std::vector<DeviceSpan> devices_of(const ReadRule& rule);

/// Those of `a` that are not in `b`; both sorted, without repetition.
std::vector<DeviceSpan> without(const std::vector<DeviceSpan>& a, const std::vector<DeviceSpan>& b);

/// "Accelerator 2-3 of node 0, 5 of node 1".
std::string describe_devices(const std::vector<DeviceSpan>& spans);

/// The resources of one component: without a hole, in ranks of its groups.
struct DevicePool {
  std::string name;
  const ReadRule* rule = nullptr;  ///< Sound.
  RankRange ranks;

  TextPosition at() const { return rule->rule->placement->at; }

  const Selection& selection() const { return *rule->selection; }

  std::vector<DeviceSpan> devices() const { return devices_of(selection(), ranks); }
};

/// The pool of a component whose rule is sound; nothing where it has a hole, which is told.
std::optional<DevicePool> read_pool(std::string name,
                                    const ReadRule& rule,
                                    const ErrorSink& errors);

/// Whether both have exactly the same devices, in whatever groups.
bool same_devices(const DevicePool& a, const DevicePool& b);

/// A device that both have: "Accelerator 3 of node 0"; nothing where they are disjoint.
std::optional<std::string> shared_device(const DevicePool& a, const DevicePool& b);
std::optional<std::string> shared_device(const std::vector<DeviceSpan>& a,
                                         const std::vector<DeviceSpan>& b);

}  // namespace orrery::placement
