#include "core/workers/worker_environment.hpp"

#include <algorithm>
#include <utility>

namespace orrery::workers {
namespace {

void add(EnvironmentInput& input, Layer layer, const std::vector<KeyValue>& variables) {
  for (const KeyValue& variable : variables) input.entries.push_back({layer, variable});
}

}  // namespace

WorkerEnvironment environment_of(WorkerFamily family,
                                 const Membership& worker,
                                 const EnvironmentSources& sources) {
  Visibility visibility = visibility_of(worker.vendor, worker.devices, worker.custom_variable);
  EnvironmentInput input;
  add(input, Layer::Default, default_variables(family, worker.vendor));
  add(input, Layer::Node, sources.node);
  add(input, Layer::Driver, sources.driver);
  add(input, Layer::Suggested, visibility.suggested);
  add(input, Layer::Suggested, suggested_variables(family, worker));
  add(input, Layer::User, sources.user);
  add(input, Layer::NodeGroup, sources.node_group);
  add(input, Layer::Computed, sources.computed);
  add(input, Layer::Computed, visibility.computed);
  add(input, Layer::Computed, family_variables(family, worker));
  add(input, Layer::Override, sources.overrides);
  input.reserved = reserved_names(family);
  input.reserved.insert(
      input.reserved.end(), visibility.reserved.begin(), visibility.reserved.end());
  input.kept_out = kept_out_prefixes(family);
  return merge_environment(input);
}

std::vector<std::string> computed_names_in(const std::vector<KeyValue>& user,
                                           WorkerFamily family,
                                           DeviceVendor vendor) {
  std::vector<std::string_view> names = reserved_names(family);
  const Visibility visibility = visibility_of(vendor, {});
  names.insert(names.end(), visibility.reserved.begin(), visibility.reserved.end());
  for (const KeyValue& variable : visibility.computed) names.push_back(variable.key);
  std::vector<std::string> out;
  for (const KeyValue& entry : user)
    if (std::ranges::find(names, entry.key) != names.end()) out.push_back(entry.key);
  return out;
}

}  // namespace orrery::workers
