// Failures at random: processes of them, written out or by preset.
#include <array>

#include "scenarios/language/readers.hpp"
#include "scenarios/language/spec/node_sets.hpp"

namespace orrery::scenarios {
namespace {

/// Processes that have a name. The numbers are choices inside published ranges: hardware failures
/// come in bursts and from few nodes, software failures are thrice as many and even.
enum class ProcessPreset : std::uint8_t { Hardware, Software };

FaultProcess hardware() {
  FaultProcess process;
  process.law = FaultLaw::Weibull;
  process.shape = 0.7;
  process.rate_per_1000_node_days = 5;
  process.repair_median = Duration::seconds(3600);
  process.repair_sigma = 1.15;
  process.lemons = {.share = 0.05, .factor = 10};
  process.correlated = {.share = 0.02, .group = NodeSet::Switch};
  process.mix.process_restart = 0.4;
  process.mix.node_swap = 0.5;
  process.mix.fail_slow = 0.1;
  return process;
}

FaultProcess software() {
  FaultProcess process;
  process.rate_per_1000_node_days = 15;
  process.of = ProcessSubject::Worker;
  return process;
}

}  // namespace
}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::ProcessPreset> {
  static constexpr std::array kNames{"hardware", "software"};
};

}  // namespace orrery

namespace orrery::scenarios {
namespace {

void read_groups(const MapReader& reader, const Scenario& scenario, FaultProcess& process) {
  if (const YamlNode* node = reader.find("correlated")) {
    const MapReader map(
        reader.reading(), *node, section("faults.correlated"), reader.subject_of("correlated"));
    map.read_number("share", process.correlated.share, 0, 1);
    map.read_enum("group", process.correlated.group);
    if (process.correlated.share > 0 && node_sets(scenario, process.correlated.group).empty())
      map.fail("group",
               "is " + std::string(to_string(process.correlated.group)) +
                   ", but the cluster declares none; add nodes_per_" +
                   std::string(to_string(process.correlated.group)) + " to the cluster");
    return;
  }
  // A preset takes what the cluster has: a switch, else a rack, else each node fails alone.
  if (!node_sets(scenario, NodeSet::Switch).empty()) return;
  process.correlated.group = NodeSet::Rack;
  if (node_sets(scenario, NodeSet::Rack).empty()) process.correlated.share = 0;
}

void read_mix(const MapReader& reader, FailureMix& mix) {
  const YamlNode* node = reader.find("mix");
  if (node == nullptr) return;
  const MapReader map(reader.reading(), *node, section("faults.mix"), reader.subject_of("mix"));
  // What is not named has no part in a mix that is written out.
  if (map.has("process_restart") || map.has("node_swap") || map.has("fail_slow"))
    mix.process_restart = mix.node_swap = mix.fail_slow = 0;
  map.read_number("process_restart", mix.process_restart, 0, 1);
  map.read_number("node_swap", mix.node_swap, 0, 1);
  map.read_number("fail_slow", mix.fail_slow, 0, 1);
  map.read_number("slow_factor", mix.slow_factor, 1, 1e6);
  map.read_duration("slow_lasting", mix.slow_lasting);
  if (mix.process_restart + mix.node_swap + mix.fail_slow <= 0)
    reader.fail("mix", "has no part above 0, one is needed; write for example {node_swap: 1}");
}

void read_parts(const MapReader& reader, FaultProcess& process) {
  if (const YamlNode* node = reader.find("repair")) {
    const MapReader repair(
        reader.reading(), *node, section("faults.repair"), reader.subject_of("repair"));
    repair.read_duration("median", process.repair_median);
    repair.read_number("sigma", process.repair_sigma, 0, 10);
  }
  if (const YamlNode* node = reader.find("lemons")) {
    const MapReader lemons(
        reader.reading(), *node, section("faults.lemons"), reader.subject_of("lemons"));
    lemons.read_number("share", process.lemons.share, 0, 1);
    lemons.read_number("factor", process.lemons.factor, 1, 1e6);
  }
  read_mix(reader, process.mix);
}

}  // namespace

FaultProcess read_fault_process(const MapReader& reader, const Scenario& scenario) {
  FaultProcess process;
  ProcessPreset preset = ProcessPreset::Hardware;
  reader.read_enum("preset", preset);
  if (reader.has("preset")) process = preset == ProcessPreset::Hardware ? hardware() : software();
  FaultKind kind = FaultKind::Down;
  reader.read_enum("kind", kind);
  if (kind != FaultKind::Down)
    reader.fail("kind", "is not down, 'of' and 'mix' say what a process does; write kind: down");
  reader.read_enum("process", process.law);
  reader.read_enum("of", process.of);
  if (!reader.has("rate_per_1000_node_days") && !reader.has("preset"))
    reader.missing("rate_per_1000_node_days", "rate_per_1000_node_days: 5");
  reader.read_number("rate_per_1000_node_days", process.rate_per_1000_node_days, 1e-6, 1e9);
  reader.read_number("shape", process.shape, 0.05, 100);
  if (process.law == FaultLaw::Exponential) {
    if (reader.has("shape"))
      reader.fail("shape", "has a meaning for process weibull only; remove it");
    process.shape = 1;
  }
  reader.read_integer("exit_code", process.exit_code, 1, 255);
  read_parts(reader, process);
  read_groups(reader, scenario, process);
  if (process.of != ProcessSubject::Node)
    for (std::string_view key : {"mix", "correlated"})
      if (reader.has(key))
        reader.fail(key, "has a meaning for failures of nodes only; remove it or write of: node");
  if (process.of == ProcessSubject::Worker && reader.has("repair"))
    reader.fail("repair", "has no meaning for workers, which the core restarts; remove it");
  return process;
}

}  // namespace orrery::scenarios
