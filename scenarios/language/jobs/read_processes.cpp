// How the processes of a role are shown what they are: the group's name, what they see, and what
// they have on some nodes alone.
#include <algorithm>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// More nodes than any cluster has, and more processes than any role.
constexpr std::int64_t kNodesMax = 131'072;

void read_numbers(const MapReader& reader, std::string_view key, std::vector<std::int32_t>& to) {
  for (const NumberRange& range : read_ranges(reader, key)) {
    if (range.last >= kNodesMax)
      return reader.fail(key,
                         "is " + std::to_string(range.last) + ", numbers below " +
                             std::to_string(kNodesMax) + " are needed; correct it");
    if (!reader.reading().take_numbers(range.last - range.first + 1))
      return reader.fail(key,
                         "stands, with the ranges before it, for more than " +
                             std::to_string(kRangeNumbersMax) +
                             " numbers; name fewer nodes or ranks");
    for (std::int64_t number = range.first; number <= range.last; ++number)
      to.push_back(static_cast<std::int32_t>(number));
  }
  std::ranges::sort(to);
}

}  // namespace

void read_processes(const MapReader& reader, RoleSpec& role) {
  ProcessSpec process;
  reader.read_text("group_name", process.group_name);
  reader.read_bool("isolate_devices", process.isolate_devices);
  std::size_t index = 0;
  for (const YamlNode& item : reader.items("on_nodes")) {
    const MapReader entry(reader.reading(),
                          item,
                          section("jobs.roles.on_nodes"),
                          reader.subject_of("on_nodes[" + std::to_string(index++) + "]"));
    NodeProgram program;
    read_numbers(entry, "nodes", program.nodes);
    read_numbers(entry, "ranks", program.ranks);
    if (!entry.has("nodes")) entry.missing("nodes", "nodes: 0-3");
    read_texts_by_name(entry, "env", program.environment);
    entry.read_text("interpreter", program.interpreter);
    entry.read_text("node_group", program.node_group);
    process.on_nodes.push_back(std::move(program));
  }
  if (process != ProcessSpec{}) role.process = std::move(process);
}

}  // namespace orrery::scenarios
