#include <utility>

#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

void read_node_fault(const MapReader& reader, const Scenario& scenario, Fault& fault) {
  const std::int64_t nodes = scenario.node_count();
  if (!reader.has("node")) reader.missing("node", "node: 0");
  std::int64_t node = 0;
  reader.read_integer("node", node, 0, INT32_MAX);
  if (nodes > 0 && node >= nodes)
    reader.fail("node",
                "is " + std::to_string(node) + ", but the cluster has nodes 0 to " +
                    std::to_string(nodes - 1) + "; correct it or add nodes");
  fault.node = NodeId{static_cast<std::uint32_t>(node)};
  reader.read_duration("for", fault.lasting);
  if (fault.kind == FaultKind::Up && reader.has("for"))
    reader.fail("for", "stands with kind up, only a node that is down comes back; remove it");
  for (std::string_view key : {"job", "rank", "role", "local", "exit_code"})
    if (reader.has(key)) reader.fail(key, "has no meaning for a fault of a node; remove it");
}

void read_worker_fault(const MapReader& reader, const Scenario& scenario, Fault& fault) {
  if (!reader.has("job")) reader.missing("job", "job: train");
  const ScenarioJob* job = read_job_name(reader, "job", scenario, fault.job);
  read_worker_ref(reader, fault.worker);
  if (job != nullptr) check_worker_ref(reader, *job, fault.worker);
  reader.read_integer("exit_code", fault.exit_code, 1, 255);
  if (fault.kind == FaultKind::Delete && reader.has("exit_code"))
    reader.fail("exit_code", "stands with kind delete, a deleted worker has none; remove it");
  for (std::string_view key : {"node", "for"})
    if (reader.has(key)) reader.fail(key, "has no meaning for a fault of a worker; remove it");
}

Fault read_fault(const MapReader& reader, const Scenario& scenario) {
  Fault fault;
  if (!reader.has("at")) reader.missing("at", "at: 60s");
  reader.read_instant("at", fault.at);
  if (!reader.has("kind")) reader.missing("kind", "kind: down");
  reader.read_enum("kind", fault.kind);
  if (fault.kind == FaultKind::Down || fault.kind == FaultKind::Up)
    read_node_fault(reader, scenario, fault);
  else
    read_worker_fault(reader, scenario, fault);
  return fault;
}

FaultProcess read_process(const MapReader& reader) {
  FaultProcess process;
  FaultKind kind = FaultKind::Down;
  reader.read_enum("kind", kind);
  if (kind != FaultKind::Down)
    reader.fail("kind", "is not down, only nodes fail by a process; write kind: down");
  reader.read_enum("process", process.law);
  if (!reader.has("rate_per_1000_node_days"))
    reader.missing("rate_per_1000_node_days", "rate_per_1000_node_days: 5");
  reader.read_number("rate_per_1000_node_days", process.rate_per_1000_node_days, 1e-6, 1e9);
  reader.read_number("shape", process.shape, 0.05, 100);
  if (process.law == FaultLaw::Exponential && reader.has("shape"))
    reader.fail("shape", "has a meaning for process weibull only; remove it");
  if (const YamlNode* node = reader.find("repair")) {
    const MapReader repair(
        reader.reading(), *node, section("faults.repair"), reader.subject_of("repair"));
    repair.read_duration("median", process.repair_median);
    repair.read_number("sigma", process.repair_sigma, 0, 10);
  }
  return process;
}

}  // namespace

void read_faults(const MapReader& top, Scenario& scenario) {
  std::size_t index = 0;
  for (const YamlNode& item : top.items("faults")) {
    const std::string subject = "faults[" + std::to_string(index++) + "]";
    if (item.find("process") != nullptr)
      scenario.fault_processes.push_back(
          read_process(MapReader(top.reading(), item, section("faults.process"), subject)));
    else
      scenario.faults.push_back(
          read_fault(MapReader(top.reading(), item, section("faults"), subject), scenario));
  }
}

}  // namespace orrery::scenarios
