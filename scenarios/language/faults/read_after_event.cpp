// The events that a fault may wait for.
#include <algorithm>
#include <span>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

using EventKey = std::string_view;

constexpr EventKey kPhaseKeys[]{"job", "phase"};
constexpr EventKey kWorkerKeys[]{"job", "rank", "role", "local"};
constexpr EventKey kNodeKeys[]{"node"};
constexpr EventKey kJobKeys[]{"job"};
constexpr EventKey kCommandKeys[]{"job", "command"};
constexpr EventKey kIncidentKeys[]{"job", "node"};
constexpr EventKey kFaultKeys[]{"fault"};

/// Keys that narrow an event of this kind.
std::span<const EventKey> keys_of(ObservedEvent event) {
  switch (event) {
    case ObservedEvent::Phase:
      return kPhaseKeys;
    case ObservedEvent::Ready:
    case ObservedEvent::Exit:
      return kWorkerKeys;
    case ObservedEvent::NodeSilent:
    case ObservedEvent::NodeReturned:
      return kNodeKeys;
    case ObservedEvent::Checkpoint:
      return kJobKeys;
    case ObservedEvent::Epoch:
      return {};
    case ObservedEvent::Command:
      return kCommandKeys;
    case ObservedEvent::Incident:
      return kIncidentKeys;
    case ObservedEvent::Fault:
      return kFaultKeys;
  }
  return {};
}

void read_node(const MapReader& reader, const Scenario& scenario, NodeId& to) {
  if (!reader.has("node")) return;
  const std::int64_t nodes = scenario.node_count();
  std::int64_t node = -1;
  reader.read_integer("node", node, 0, INT32_MAX);
  if (nodes > 0 && node >= nodes)
    reader.fail("node",
                "is " + std::to_string(node) + ", but the cluster has nodes 0 to " +
                    std::to_string(nodes - 1) + "; correct it");
  if (node >= 0) to = NodeId{static_cast<std::uint32_t>(node)};
}

void read_worker(const MapReader& reader,
                 const ScenarioJob* job,
                 const Scenario& scenario,
                 AfterEvent& to) {
  if (!reader.has("rank") && !reader.has("role") && !reader.has("local")) return;
  to.worker.emplace();
  read_worker_ref(reader, *to.worker);
  if (job != nullptr) check_worker_ref(reader, *job, *to.worker, scenario.requests);
  if (!reader.has("job"))
    reader.fail(reader.has("rank") ? "rank" : "role",
                "stands without 'job', whose worker it is; add job: NAME");
}

}  // namespace

AfterEvent read_after_event(const MapReader& fault,
                            const FaultIndex& index,
                            const Scenario& scenario) {
  AfterEvent to;
  const MapReader reader(fault.reading(),
                         *fault.find("after_event"),
                         section("faults.after_event"),
                         fault.subject_of("after_event"));
  if (!reader.has("event")) reader.missing("event", "event: ready");
  reader.read_enum("event", to.event);
  const YamlNode* event = reader.find("event");
  if (event == nullptr || !event->is_scalar() || !enum_from<ObservedEvent>(event->scalar))
    return to;
  const ScenarioJob* job = read_job_name(reader, "job", scenario, to.job);
  reader.read_enum("phase", to.phase);
  read_worker(reader, job, scenario, to);
  read_node(reader, scenario, to.node);
  reader.read_enum("command", to.command);
  if (to.event == ObservedEvent::Fault) to.fault = index.read(reader);
  reader.read_integer("count", to.count, 1, 1'000'000'000);
  reader.read_duration("delay", to.delay);
  const auto keys = keys_of(to.event);
  for (EventKey key : section("faults.after_event").keys) {
    const bool of_all = key == "event" || key == "count" || key == "delay";
    if (of_all || !reader.has(key) || std::find(keys.begin(), keys.end(), key) != keys.end())
      continue;
    reader.fail(key,
                "has no meaning for event " + std::string(to_string(to.event)) + "; remove it");
  }
  return to;
}

}  // namespace orrery::scenarios
