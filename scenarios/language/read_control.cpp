#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "core/placer/registry.hpp"
#include "core/queues/queue_text.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// A scalar, or scalars of a list joined by ",".
std::optional<std::string> flat_text(const YamlNode& node) {
  if (node.is_scalar()) return node.scalar;
  if (!node.is_sequence()) return std::nullopt;
  std::string text;
  for (const YamlNode& item : node.items) {
    if (!item.is_scalar()) return std::nullopt;
    if (!text.empty()) text += ",";
    text += item.scalar;
  }
  return text;
}

/// A policy with parameters, inside the list of a parameter: "las quantum=10min".
std::optional<std::string> nested_policy_text(const YamlNode& node) {
  if (!node.is_map()) return flat_text(node);
  const YamlNode* name = node.find("name");
  if (name == nullptr || !name->is_scalar()) return std::nullopt;
  std::string text = name->scalar;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "name") continue;
    const auto value = flat_text(entry.value);
    if (!value) return std::nullopt;
    text += " " + entry.key + "=" + *value;
  }
  return text;
}

/// The parameter's value as the registry gets it, or nothing where it is no scalar and no list of
/// scalars and policies.
std::optional<std::string> parameter_text(const YamlNode& node) {
  const auto is_map = [](const YamlNode& item) { return item.is_map(); };
  if (!node.is_sequence() || std::ranges::none_of(node.items, is_map)) return flat_text(node);
  std::string text;
  for (const YamlNode& item : node.items) {
    const auto one = nested_policy_text(item);
    if (!one) return std::nullopt;
    text += (text.empty() ? "" : "; ") + *one;
  }
  return text;
}

}  // namespace

void read_policy(const MapReader& top, PolicyChoice& policy, std::optional<std::int64_t> devices) {
  const YamlNode* node = top.find("policy");
  if (node == nullptr) return;
  policy.place = top.reading().place(node->origin);
  if (node->is_scalar()) {
    policy.name = node->scalar;
    return;
  }
  if (!node->is_map()) {
    top.fail("policy",
             found_instead(*node,
                           "a name, or a map with a name and parameters",
                           "write for example policy: fifo"));
    return;
  }
  bool named = false;
  for (std::size_t i = 0; i < node->entries.size(); ++i) {
    const YamlEntry& entry = node->entries[i];
    for (std::size_t k = 0; k < i; ++k)
      if (node->entries[k].key == entry.key)
        top.reading().fail(entry.key_origin,
                           "policy." + entry.key,
                           "stands twice, each key stands once in a map; remove one of them");
    if (entry.key == kQueuesParameter) {
      read_queues(top, entry.value, devices, policy);
      continue;
    }
    const auto text = parameter_text(entry.value);
    if (!text) {
      top.reading().fail(
          entry.value.origin,
          "policy." + entry.key,
          found_instead(entry.value,
                        "one value or a list of values, or of policies with a name each",
                        "see orrery policies for what it takes"));
    } else if (entry.key == "name") {
      policy.name = *text;
      named = true;
    } else {
      policy.parameters.push_back({entry.key, *text, top.reading().place(entry.value.origin)});
    }
  }
  if (named) return;
  top.fail("policy", "has no name, it is needed; write for example {name: easy}");
  policy = {};  // Nobody knows whose parameters these are.
}

void read_placer(const MapReader& top, Settings& settings) {
  const YamlNode* node = top.find("placer");
  if (node == nullptr) return;
  std::string name;
  top.read_text("placer", name);
  if (!node->is_scalar()) return;  // Which has been said.
  if (const Placer* placer = placers::find(name)) {
    settings.placer = std::string(placer->name());
    return;
  }
  top.fail("placer",
           "is '" + name + "', the name of a placer is needed: " + placers::names_text() +
               "; orrery policies says what each does");
}

void read_settings(const MapReader& reader, Settings& settings) {
  reader.read_duration("node_lease", settings.node_lease);
  reader.read_duration("fence_margin", settings.fence_margin);
  reader.read_duration("takeover_grace", settings.takeover_grace);
  reader.read_duration("retain_finished", settings.retain_finished);
  reader.read_integer("retain_finished_max", settings.retain_finished_max, 0, INT32_MAX);
  reader.read_duration("preemption_grace", settings.preemption_grace);
  reader.read_integer("lemon_incidents", settings.lemon_incidents, 0, INT32_MAX);
  reader.read_duration("lemon_window", settings.lemon_window);
  reader.read_duration("exclusion", settings.exclusion);
  if (reader.has("kill_deadline"))
    reader.read_duration("kill_deadline", settings.kill_deadline);
  else
    settings.kill_deadline = std::max(settings.kill_deadline, settings.node_lease);
  if (settings.kill_deadline < settings.node_lease)
    reader.fail("kill_deadline",
                "is shorter than node_lease, an end may be reported as late as a node may be "
                "silent; raise kill_deadline");
  if (settings.fence_margin >= settings.node_lease)
    reader.fail("fence_margin",
                "is not shorter than node_lease, an agent must fence itself before its lease runs "
                "out; lower fence_margin or raise node_lease");
}

namespace {

// A lease that an agent takes to last longer than the controller does must end before the
// controller's all the same.
void read_jitter(const MapReader& top, Scenario& scenario) {
  const YamlNode* node = top.find("jitter");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("jitter"), "jitter");
  Jitter& jitter = scenario.jitter;
  reader.read_duration("timers", jitter.timers);
  reader.read_duration("batches", jitter.batches);
  reader.read_duration("planner", jitter.planner);
  reader.read_integer("clocks_ppm", jitter.clocks_ppm, 0, 100'000);
  reader.read_number("plans_lost", jitter.plans_lost, 0, 1);
  reader.read_number("plans_garbled", jitter.plans_garbled, 0, 1);
  reader.read_instant("plans_garbled_until", jitter.plans_garbled_until);
  const Settings& settings = scenario.settings;
  const double drift_s =
      settings.node_lease.in_seconds() * 2 * static_cast<double>(jitter.clocks_ppm) / 1e6;
  if (drift_s + jitter.timers.in_seconds() >= settings.fence_margin.in_seconds())
    reader.fail(jitter.clocks_ppm > 0 ? "clocks_ppm" : "timers",
                "lets an agent outlive its lease: twice the drift over controller.node_lease, and "
                "timers, must be shorter than controller.fence_margin; lower them or raise the "
                "margin");
}

namespace {

constexpr std::string_view kGavelTiming = "gavel";

/// But for gavel.
void read_mode(const MapReader& reader, std::string_view key, TimingMode& mode) {
  const YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  const auto found = node->is_scalar() ? enum_from<TimingMode>(node->scalar) : std::nullopt;
  if (found)
    mode = *found;
  else
    reader.fail(key, found_instead(*node, "one of simple, pollux, gavel", "choose one"));
}

/// The clock of an artifact's simulator as well, by ticks without a pause: jobs of measured speeds
/// go by rounds of the length of a tick.
void set_gavel_timing(Timing& timing) {
  timing.mode = TimingMode::Pollux;
  timing.tick = Duration::seconds(360);
  timing.restart = Duration::zero();
}

void read_gavel_timing(const MapReader& reader, Timing& timing) {
  set_gavel_timing(timing);
  reader.read_duration("round", timing.tick);
  if (timing.tick.ns == 0)
    reader.fail("round", "is 0, a time above 0 is needed; write for example 360s");
  for (std::string_view key : {"start",
                               "stop",
                               "restore",
                               "rescale",
                               "checkpoint_interval",
                               "checkpoint_cost",
                               "tick",
                               "restart"})
    if (reader.has(key))
      reader.fail(key, "has no meaning under mode gavel, which knows round; remove it");
}

/// A time, or a map with the quantiles of one that varies; then `time` is its median.
void read_varying(const MapReader& reader,
                  std::string_view key,
                  Duration& time,
                  TimeSpread& spread) {
  const YamlNode* node = reader.find(key);
  if (node == nullptr || !node->is_map()) return reader.read_duration(key, time);
  const MapReader map(reader.reading(), *node, section("timing.start"), reader.subject_of(key));
  if (!map.has("quantiles")) return map.missing("quantiles", "[2s, 3s, 9s]");
  for (const YamlNode& item : map.items("quantiles")) {
    const auto value = item.is_scalar() ? parse_duration(item.scalar) : std::nullopt;
    if (!value)
      return reader.reading().fail(
          item.origin,
          map.subject_of("quantiles"),
          found_instead(item, "a time with a unit", "write for example 3s"));
    spread.quantiles.push_back(*value);
  }
  const bool ascends = std::ranges::is_sorted(spread.quantiles);
  if (spread.quantiles.size() < 2 || !ascends) {
    map.fail("quantiles",
             ascends ? "has fewer than two times, the shortest and the longest are needed; write "
                       "one time without quantiles where it is always the same"
                     : "do not ascend, which quantiles at equal steps do; put them in order");
    spread.quantiles.clear();
    return;
  }
  time = spread.at(0.5);
}

constexpr std::string_view kOtherApplications = "default";

/// One time, or a map from applications to times.
void read_restart(const MapReader& reader, Timing& timing) {
  constexpr std::string_view kKey = "restart";
  const YamlNode* node = reader.find(kKey);
  if (node == nullptr) return;
  const auto read = [&](const YamlNode& value, const std::string& subject, Duration& out) {
    const auto time = value.is_scalar() ? parse_duration(value.scalar) : std::nullopt;
    if (time && !time->is_forever() && time->ns % Duration::seconds(1).ns == 0)
      out = *time;
    else
      reader.reading().fail(
          value.origin,
          subject,
          found_instead(value, "a time of whole seconds", "write for example 30s"));
  };
  const std::string subject = reader.subject_of(kKey);
  if (!node->is_map() || node->entries.empty()) return read(*node, subject, timing.restart);
  std::set<std::string_view> seen;
  for (const YamlEntry& entry : node->entries) {
    const std::string of = subject + "." + entry.key;
    if (!seen.insert(entry.key).second)
      reader.reading().fail(
          entry.key_origin, of, "stands twice, each application has one time; remove one");
    else if (entry.key == kOtherApplications)
      read(entry.value, of, timing.restart);
    else
      read(entry.value, of, timing.restart_by_application[entry.key]);
  }
}

}  // namespace

void read_timing(const MapReader& top, Timing& timing) {
  const YamlNode* node = top.find("timing");
  if (node == nullptr) return;
  if (node->is_scalar()) {
    if (node->scalar == kGavelTiming) return set_gavel_timing(timing);
    return read_mode(top, "timing", timing.mode);
  }
  const MapReader reader(top.reading(), *node, section("timing"), "timing");
  if (const YamlNode* mode = reader.find("mode"); mode != nullptr && mode->scalar == kGavelTiming)
    return read_gavel_timing(reader, timing);
  read_mode(reader, "mode", timing.mode);
  read_varying(reader, "start", timing.start, timing.spread.start);
  read_varying(reader, "stop", timing.stop, timing.spread.stop);
  read_varying(reader, "restore", timing.restore, timing.spread.restore);
  read_varying(reader, "rescale", timing.rescale, timing.spread.rescale);
  reader.read_duration("checkpoint_interval", timing.checkpoint_interval);
  reader.read_duration("checkpoint_cost", timing.checkpoint_cost);
  reader.read_duration("tick", timing.tick);
  read_restart(reader, timing);
  if (timing.tick.ns == 0)
    reader.fail("tick", "is 0, a time above 0 is needed; write for example 60s");
  const bool pollux = timing.mode == TimingMode::Pollux;
  for (std::string_view key :
       {"start", "stop", "restore", "rescale", "checkpoint_interval", "checkpoint_cost"})
    if (pollux && reader.has(key))
      reader.fail(key, "has no meaning under mode pollux, which knows tick and restart; remove it");
  if (reader.has("round"))
    reader.fail("round", "has a meaning under mode gavel only; remove it or write mode: gavel");
  for (std::string_view key : {"tick", "restart"})
    if (!pollux && reader.has(key))
      reader.fail(key, "has a meaning under mode pollux only; remove it or add mode: pollux");
}

void read_outputs(const MapReader& top, Outputs& outputs) {
  const YamlNode* node = top.find("outputs");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("outputs"), "outputs");
  reader.read_text("dir", outputs.dir);
  if (!reader.has("formats")) return;
  outputs.formats.clear();
  for (const YamlNode& item : reader.items("formats")) {
    const auto format = item.is_scalar() ? enum_from<OutputFormat>(item.scalar) : std::nullopt;
    if (format)
      outputs.formats.push_back(*format);
    else
      top.reading().fail(
          item.origin,
          "outputs.formats",
          found_instead(item, "one of " + enum_choices<OutputFormat>(), "choose one"));
  }
}

}  // namespace

bool Scenario::needs_agents() const {
  const bool data_network = fidelity >= Fidelity::L1;
  const auto is_of_control = [&](const Fault& fault) {
    if (fault.kind == FaultKind::Bandwidth && data_network) return false;
    return fault.kind == FaultKind::AgentCrash ||
           (fault.kind >= FaultKind::LinkCut && fault.kind <= FaultKind::ClockStep);
  };
  const auto is_of_links = [](const FaultProcess& process) {
    return process.of == ProcessSubject::Link;
  };
  return control == Control::Agents || jitter.batches.ns > 0 || jitter.clocks_ppm > 0 ||
         std::any_of(faults.begin(), faults.end(), is_of_control) ||
         std::any_of(fault_processes.begin(), fault_processes.end(), is_of_links);
}

void read_control(const MapReader& top, Scenario& scenario) {
  std::int64_t devices = 0;
  for (const NodeGroup& group : scenario.groups)
    devices += std::int64_t{group.count} * group.devices;
  read_policy(top, scenario.policy, devices > 0 ? std::optional(devices) : std::nullopt);
  read_placer(top, scenario.settings);
  if (const YamlNode* node = top.find("planner")) {
    const MapReader reader(top.reading(), *node, section("planner"), "planner");
    reader.read_duration("latency", scenario.planner_latency);
    reader.read_duration("deadline", scenario.planner_deadline);
    reader.read_integer("steps", scenario.planner_steps, 1, std::int64_t{1} << 60);
    if (scenario.planner_deadline == Duration::zero())
      reader.fail("deadline", "is 0s, more is needed: no plan would ever come in time; raise it");
    else if (scenario.planner_latency > scenario.planner_deadline)
      reader.fail(
          "latency",
          "is longer than the deadline, 30s where none is given: no plan would ever come in "
          "time; lower it or raise the deadline");
  }
  if (top.has("control")) top.read_enum("control", scenario.control);
  if (const YamlNode* node = top.find("controller"))
    read_settings(MapReader(top.reading(), *node, section("controller"), "controller"),
                  scenario.settings);
  read_jitter(top, scenario);
  read_timing(top, scenario.timing);
  read_outputs(top, scenario.outputs);
}

}  // namespace orrery::scenarios
