#include "sim/import/batsim_events.hpp"

#include <algorithm>
#include <utility>

#include "sim/import/batsim_file.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

bool is_about_machines(const JsonNode& node) {
  const JsonNode* type = node.is(JsonKind::Object) ? node.find("type") : nullptr;
  return type != nullptr && type->is(JsonKind::Text) &&
         (type->text == "machine_unavailable" || type->text == "machine_available");
}

/// Reads `resources` of an object about machines.
void read_machines(const JsonReader& reader, Instant at, BatsimEvents& events) {
  std::string type;
  std::string resources;
  reader.text("type", type);
  if (!reader.has("resources")) return reader.missing("resources", "\"resources\": \"0-4 8\"");
  const JsonNode* node = reader.find("resources");
  if (!node->is(JsonKind::Text) && !node->is(JsonKind::Number))
    return reader.fail("resources", instead_of(*node, "a set like \"0-4 8\"", "correct it"));
  const auto set = ResourceSet::parse(node->text);
  if (!set || set->empty())
    return reader.fail("resources", instead_of(*node, "a set like \"0-4 8\"", "correct it"));
  events.events.push_back({at, type == "machine_available", *set, reader.line()});
}

void read_line(const JsonNode& node, FileErrors& errors, BatsimEvents& events) {
  const JsonReader reader(node, "event", errors);
  if (!node.is(JsonKind::Object)) return;
  double timestamp = 0;
  if (!reader.has("timestamp")) reader.missing("timestamp", "\"timestamp\": 10.0");
  reader.number("timestamp", timestamp, 0, kBatsimSecondsMax);
  const Instant at = Instant{} + Duration::from_seconds(timestamp);
  if (is_about_machines(node)) return read_machines(reader, at, events);
  const JsonNode* data = reader.find("data");
  JsonNode inner;
  if (data != nullptr && data->is(JsonKind::Text)) {
    // Text that is no JSON is a message to some scheduler, as in Batsim's own example.
    if (Result<JsonNode> parsed = parse_json(data->text, errors.file(), node.line)) {
      inner = std::move(*parsed);
      data = &inner;
    }
  }
  if (data != nullptr && is_about_machines(*data))
    return read_machines(JsonReader(*data, "event: data", errors), at, events);
  ++events.passed_over;
}

}  // namespace

Result<BatsimEvents> parse_batsim_events(std::string_view text, const std::string& file) {
  BatsimEvents events;
  events.file = file;
  FileErrors errors(file);
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ++events.lines;
    Result<JsonNode> node = parse_json(row, file, line);
    if (node)
      read_line(*node, errors, events);
    else
      errors.add(line, "event", node.errors().front().message);
  }
  if (errors.any()) return errors.take();
  std::stable_sort(
      events.events.begin(),
      events.events.end(),
      [](const BatsimMachineEvent& a, const BatsimMachineEvent& b) { return a.at < b.at; });
  return events;
}

Result<std::vector<scenarios::Fault>> faults_of(const BatsimEvents& events, std::int64_t nodes) {
  FileErrors errors(events.file);
  std::vector<scenarios::Fault> faults;
  for (const BatsimMachineEvent& event : events.events) {
    if (std::int64_t{event.resources.ranges().back().last} >= nodes) {
      errors.add(event.line,
                 "event: resources",
                 "are " + event.resources.text() + ", but the cluster has " +
                     std::to_string(nodes) + " nodes, numbered from 0; correct them");
      continue;
    }
    scenarios::Fault fault;
    fault.kind = event.available ? scenarios::FaultKind::Up : scenarios::FaultKind::Down;
    fault.at = event.at;
    for (const ResourceRange& range : event.resources.ranges())
      for (std::uint32_t node = range.first; node <= range.last; ++node)
        fault.nodes.emplace_back(node);
    faults.push_back(std::move(fault));
  }
  if (errors.any()) return errors.take();
  return faults;
}

}  // namespace orrery::sim
