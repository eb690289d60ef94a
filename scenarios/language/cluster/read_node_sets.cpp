// Nodes by number, range, rack and switch.
#include <algorithm>

#include "core/base/number_text.hpp"
#include "scenarios/language/readers.hpp"
#include "scenarios/language/spec/node_sets.hpp"

namespace orrery::scenarios {
namespace {

/// "3" or "0-3".
std::optional<NumberRange> parse_range(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<std::int64_t> {
    const std::optional<std::int32_t> value = parsed_number<std::int32_t>(digits);
    return value && *value >= 0 ? value : std::nullopt;
  };
  const std::size_t dash = text.find('-', 1);
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return NumberRange{*first, *last};
}

std::string zero_to(std::int64_t count) { return "0 to " + std::to_string(count - 1); }

void add_nodes(const MapReader& reader,
               std::string_view key,
               const Scenario& scenario,
               const NumberRange& range,
               std::vector<NodeId>& nodes) {
  const std::int64_t known = scenario.node_count();
  if (known == 0) return;  // The cluster is broken, and reported.
  if (range.last >= known)
    return reader.fail(key,
                       "is " + std::to_string(range.last) + ", but the cluster has nodes " +
                           zero_to(known) + "; correct it or add nodes");
  for (std::int64_t n = range.first; n <= range.last; ++n)
    nodes.emplace_back(static_cast<std::uint32_t>(n));
}

void read_set(const MapReader& reader,
              std::string_view key,
              NodeSet kind,
              const Scenario& scenario,
              std::vector<NodeId>& nodes) {
  if (!reader.has(key)) return;
  std::int64_t index = -1;
  reader.read_integer(key, index, 0, INT32_MAX);
  if (index < 0 || scenario.node_count() == 0) return;
  const std::vector<NodeRun> sets = node_sets(scenario, kind);
  const auto count = static_cast<std::int64_t>(sets.size());
  if (count == 0)
    return reader.fail(key,
                       "stands here, but the cluster declares none; add nodes_per_" +
                           std::string(key) + " to the cluster");
  if (index >= count)
    return reader.fail(
        key,
        "is " + std::to_string(index) + ", but the cluster has " + zero_to(count) + "; correct it");
  const NodeRun& set = sets[static_cast<std::size_t>(index)];
  add_nodes(reader, key, scenario, {set.first.value, set.first.value + set.count - 1}, nodes);
}

}  // namespace

std::vector<NumberRange> read_ranges(const MapReader& reader, std::string_view key) {
  std::vector<NumberRange> ranges;
  const YamlNode* node = reader.find(key);
  if (node == nullptr) return ranges;
  const auto one = [&](const YamlNode& item) {
    const auto range = item.is_scalar() ? parse_range(item.scalar) : std::nullopt;
    if (range)
      ranges.push_back(*range);
    else
      reader.fail(key, found_instead(item, "a number or a range of them", "write for example 0-3"));
  };
  if (node->is_sequence())
    for (const YamlNode& item : node->items) one(item);
  else
    one(*node);
  return ranges;
}

void read_node_list(const MapReader& reader,
                    std::string_view key,
                    const Scenario& scenario,
                    std::vector<NodeId>& nodes) {
  const auto known = static_cast<std::size_t>(scenario.node_count());
  const auto tidy = [&] {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  };
  for (const NumberRange& range : read_ranges(reader, key)) {
    add_nodes(reader, key, scenario, range, nodes);
    if (nodes.size() > 2 * known) tidy();  // Many ranges that repeat take no more memory.
  }
  tidy();
}

bool names_nodes(const MapReader& reader) {
  return reader.has("node") || reader.has("nodes") || reader.has("rack") || reader.has("switch");
}

void read_nodes(const MapReader& reader, const Scenario& scenario, std::vector<NodeId>& nodes) {
  int ways = 0;
  for (std::string_view key : {"node", "nodes", "rack", "switch"}) ways += reader.has(key) ? 1 : 0;
  if (ways > 1)
    reader.reading().fail(reader.origin(),
                          reader.subject(),
                          "has several of node, nodes, rack and switch, one is needed; keep one");
  std::int64_t node = -1;
  reader.read_integer("node", node, 0, INT32_MAX);
  if (node >= 0) add_nodes(reader, "node", scenario, {node, node}, nodes);
  read_set(reader, "rack", NodeSet::Rack, scenario, nodes);
  read_set(reader, "switch", NodeSet::Switch, scenario, nodes);
  read_node_list(reader, "nodes", scenario, nodes);
}

}  // namespace orrery::scenarios
