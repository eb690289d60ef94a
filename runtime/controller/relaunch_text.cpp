#include "runtime/controller/relaunch_text.hpp"

#include "core/base/json_text.hpp"

namespace orrery::runtime {

std::string relaunch_text(const RelaunchNodes& order,
                          const State& state,
                          std::span<const NodeFacts> facts) {
  const JobState* job = state.find(order.job);
  JsonText json;
  json.begin_object();
  if (job != nullptr) json.field("job", job->spec->name);
  json.field("incident", order.incident).key("nodes").begin_array();
  for (const NodeId id : order.nodes) {
    const NodeState& node = state.nodes[id.index()];
    json.begin_object().field("name", node.name);
    if (id.index() < facts.size()) {
      const NodeFacts& known = facts[id.index()];
      json.field("address", known.address).field("host", known.peer);
      json.field("connected", known.connected);
      json.key("devices").begin_array();
      for (const FoundDevice& device : known.inventory.devices) json.value(device.model);
      json.end_array();
    }
    json.key("labels").begin_object();
    json.field("group", node.group);
    if (node.rack >= 0) json.field("rack", node.rack);
    if (node.nvlink_domain >= 0) json.field("nvlink_domain", node.nvlink_domain);
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace orrery::runtime
