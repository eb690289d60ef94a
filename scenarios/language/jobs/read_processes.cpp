// How the processes of a role are shown what they are: the group's name, what they see, and what
// they have on some nodes alone.
#include <algorithm>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// More nodes than any cluster has, and more processes than any role.
constexpr std::int64_t kNodesMax = 131'072;

/// Ascending. Of numbers that several ranges have the first one of each range stands twice, to be
/// told.
void read_numbers(const MapReader& reader, std::string_view key, std::vector<std::int32_t>& to) {
  std::vector<NumberRange> ranges = read_ranges(reader, key);
  std::ranges::stable_sort(ranges, {}, &NumberRange::first);
  std::vector<std::int32_t> twice;
  std::int64_t next = 0;
  for (const NumberRange& range : ranges) {
    if (range.last >= kNodesMax)
      return reader.fail(key,
                         "is " + std::to_string(range.last) + ", numbers below " +
                             std::to_string(kNodesMax) + " are needed; correct it");
    if (!reader.reading().take_numbers(range.last - range.first + 1))
      return reader.fail(key,
                         "stands, with the ranges before it, for more than " +
                             std::to_string(kRangeNumbersMax) +
                             " numbers; name fewer nodes or ranks");
    if (range.first < next) twice.push_back(static_cast<std::int32_t>(range.first));
    for (next = std::max(next, range.first); next <= range.last; ++next)
      to.push_back(static_cast<std::int32_t>(next));
  }
  if (twice.empty()) return;
  to.insert(to.end(), twice.begin(), twice.end());
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
