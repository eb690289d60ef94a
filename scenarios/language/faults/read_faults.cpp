#include <algorithm>
#include <span>

#include "core/base/invariant.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

using Key = std::string_view;

/// What a kind of fault is aimed at.
enum class Target : std::uint8_t { Worker, Nodes, Network, Controller, Clock, SubMaster };

constexpr Key kNoKeys[]{""};
constexpr Key kExitCode[]{"exit_code", "blames"};
constexpr Key kFactor[]{"factor"};
constexpr Key kReboot[]{"up_for", "down_for"};
constexpr Key kDevices[]{"devices"};
constexpr Key kNotice[]{"notice"};
constexpr Key kDirection[]{"direction"};
constexpr Key kAdded[]{"added"};
constexpr Key kRate[]{"rate"};
constexpr Key kWindow[]{"window"};
constexpr Key kPoint[]{"point"};
constexpr Key kBy[]{"by"};
constexpr Key kArrow[]{"arrow"};

/// One kind: its target, the keys of its own, and how long it lasts where the file does not say.
struct Rule {
  FaultKind kind;
  Target target;
  std::span<const Key> keys = kNoKeys;
  bool lasts = false;
  Duration lasting = Duration::forever();
};

constexpr Duration kShortly = Duration::seconds(5);

constexpr Rule kRules[]{
    {FaultKind::Crash, Target::Worker, kExitCode},
    {FaultKind::Delete, Target::Worker},
    {FaultKind::Hang, Target::Worker, kNoKeys, true},
    {FaultKind::Slow, Target::Worker, kFactor, true},
    {FaultKind::Stuck, Target::Worker, kNoKeys, true},
    {FaultKind::Down, Target::Nodes, kNoKeys, true},
    {FaultKind::Up, Target::Nodes},
    {FaultKind::RebootLoop, Target::Nodes, kReboot},
    {FaultKind::DeviceLost, Target::Nodes, kDevices, true},
    {FaultKind::PreemptionNotice, Target::Nodes, kNotice, true},
    {FaultKind::AgentCrash, Target::Nodes, kNoKeys, true, kShortly},
    {FaultKind::Cordon, Target::Nodes, kNoKeys, true},
    {FaultKind::Uncordon, Target::Nodes},
    {FaultKind::LinkCut, Target::Network, kDirection, true},
    {FaultKind::Bandwidth, Target::Network, kFactor, true},
    {FaultKind::Latency, Target::Network, kAdded, true},
    {FaultKind::Loss, Target::Network, kRate, true},
    {FaultKind::Duplication, Target::Network, kRate, true},
    {FaultKind::Reordering, Target::Network, kWindow, true},
    {FaultKind::ControllerCrash, Target::Controller, kPoint, true, kShortly},
    {FaultKind::SecondLeader, Target::Controller, kNoKeys, true, Duration::seconds(10)},
    {FaultKind::ControllerPause, Target::Controller, kNoKeys, true, kShortly},
    {FaultKind::StoreSlow, Target::Controller, kAdded, true},
    {FaultKind::StoreFail, Target::Controller, kNoKeys, true, kShortly},
    {FaultKind::StoreTorn, Target::Controller, kNoKeys, true, kShortly},
    {FaultKind::ClockStep, Target::Clock, kBy},
    {FaultKind::SubMasterCrash, Target::SubMaster, kArrow},
};

const Rule& rule_of(FaultKind kind) {
  const Rule& rule = kRules[static_cast<std::size_t>(kind)];
  invariant(rule.kind == kind, "rules stand in the order of the kinds");
  return rule;
}

bool contains(std::span<const Key> keys, Key key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool may_have(const Rule& rule, Key key) {
  static constexpr Key kWhen[]{"kind", "at", "after_event", "times", "every"};
  static constexpr Key kOfWorker[]{"job", "rank", "role", "local"};
  static constexpr Key kOfNodes[]{"node", "nodes", "rack", "switch"};
  static constexpr Key kOfRole[]{"job", "role"};
  if (contains(kWhen, key) || contains(rule.keys, key)) return true;
  if (key == "lasting" || key == "for") return rule.lasts;
  switch (rule.target) {
    case Target::Worker:
      return contains(kOfWorker, key) || contains(kOfNodes, key);
    case Target::Nodes:
    case Target::Network:
    case Target::Clock:
      return contains(kOfNodes, key);
    case Target::Controller:
      return false;
    case Target::SubMaster:
      return contains(kOfRole, key);
  }
  return false;
}

// --- targets ---

void read_role_of(const MapReader& reader,
                  const ScenarioJob* job,
                  const Scenario& scenario,
                  Fault& fault) {
  if (!reader.has("role")) reader.missing("role", "role: learner");
  reader.read_text("role", fault.worker.role);
  if (job != nullptr && reader.has("role"))
    check_worker_ref(reader, *job, fault.worker, scenario.requests);
}

/// Every worker on some nodes, in place of one worker of a job.
void read_workers_of_nodes(const MapReader& reader, const Scenario& scenario, Fault& fault) {
  read_nodes(reader, scenario, fault.nodes);
  for (Key key : {"job", "rank", "role", "local"})
    if (reader.has(key))
      reader.fail(key, "stands beside nodes, all of whose workers are meant; remove one of them");
}

void read_target(const MapReader& reader,
                 const Rule& rule,
                 const Scenario& scenario,
                 Fault& fault) {
  switch (rule.target) {
    case Target::Worker:
      if (names_nodes(reader)) return read_workers_of_nodes(reader, scenario, fault);
      [[fallthrough]];
    case Target::SubMaster: {
      if (!reader.has("job")) reader.missing("job", "job: train");
      const ScenarioJob* job = read_job_name(reader, "job", scenario, fault.job);
      if (rule.target == Target::SubMaster) return read_role_of(reader, job, scenario, fault);
      read_worker_ref(reader, fault.worker);
      if (job != nullptr) check_worker_ref(reader, *job, fault.worker, scenario.requests);
      return;
    }
    case Target::Nodes:
    case Target::Network:
    case Target::Clock:
      if (rule.target == Target::Nodes && !names_nodes(reader)) reader.missing("node", "node: 0");
      return read_nodes(reader, scenario, fault.nodes);
    case Target::Controller:
      return;
  }
}

// --- what single kinds need ---

void read_devices(const MapReader& reader, const Scenario& scenario, Fault& fault) {
  if (!reader.has("devices")) return reader.missing("devices", "devices: [0, 3]");
  std::int32_t most = 0;
  for (const NodeGroup& group : scenario.groups) most = std::max(most, group.devices);
  for (const NumberRange& range : read_ranges(reader, "devices")) {
    if (range.last >= most)
      reader.fail("devices",
                  "is " + std::to_string(range.last) + ", but nodes have at most " +
                      std::to_string(most) + " devices, counted from 0; correct it");
    else
      for (std::int64_t d = range.first; d <= range.last; ++d) fault.devices |= 1ULL << d;
  }
}

void need_duration(const MapReader& reader, Key key, std::string_view example, Duration& to) {
  if (!reader.has(key)) reader.missing(key, std::string(key) + ": " + std::string(example));
  reader.read_duration(key, to);
}

void need_number(const MapReader& reader,
                 Key key,
                 std::string_view example,
                 double& to,
                 double low,
                 double high) {
  if (!reader.has(key)) reader.missing(key, std::string(key) + ": " + std::string(example));
  reader.read_number(key, to, low, high);
}

/// A time that may begin with "-".
void read_step(const MapReader& reader, Duration& to) {
  const YamlNode* node = reader.find("by");
  if (node == nullptr) return reader.missing("by", "by: -5s");
  const bool back = node->is_scalar() && node->scalar.starts_with("-");
  const auto value = node->is_scalar()
                         ? parse_duration(std::string_view(node->scalar).substr(back ? 1 : 0))
                         : std::nullopt;
  if (value)
    to = back ? Duration{-value->ns} : *value;
  else
    reader.fail(
        "by", found_instead(*node, "a time with a unit, back with a '-'", "write for example -5s"));
}

/// A loop of reboots is a node that is down again and again.
void read_reboots(const MapReader& reader, Fault& fault) {
  Duration up_for = Duration::seconds(10);
  Duration down_for = Duration::seconds(10);
  reader.read_duration("up_for", up_for);
  reader.read_duration("down_for", down_for);
  fault.kind = FaultKind::Down;
  fault.lasting = down_for;
  fault.every = up_for + down_for;
  if (!reader.has("times")) fault.times = 3;
  if (reader.has("every"))
    reader.fail("every", "stands with kind reboot_loop, which up_for and down_for tell; remove it");
  if (down_for.ns == 0)
    reader.fail("down_for", "is 0, a time above 0 is needed; write for example 10s");
}

void read_own(const MapReader& reader, const Scenario& scenario, Fault& fault) {
  switch (fault.kind) {
    case FaultKind::Crash: {
      reader.read_integer("exit_code", fault.exit_code, 1, 255);
      const auto job =
          std::find_if(scenario.jobs.begin(), scenario.jobs.end(), [&](const ScenarioJob& each) {
            return each.spec.name == fault.job;
          });
      return read_blames(reader, job == scenario.jobs.end() ? nullptr : &*job, fault.blames);
    }
    case FaultKind::Slow:
      return need_number(reader, "factor", "2", fault.factor, 1, 1e6);
    case FaultKind::RebootLoop:
      return read_reboots(reader, fault);
    case FaultKind::DeviceLost:
      return read_devices(reader, scenario, fault);
    case FaultKind::PreemptionNotice:
      return need_duration(reader, "notice", "30s", fault.notice);
    case FaultKind::LinkCut:
      return reader.read_enum("direction", fault.direction);
    case FaultKind::Bandwidth:
      return need_number(reader, "factor", "0.1", fault.factor, 1e-6, 1);
    case FaultKind::Latency:
    case FaultKind::StoreSlow:
      return need_duration(reader, "added", "200ms", fault.added);
    case FaultKind::Loss:
    case FaultKind::Duplication:
      return need_number(reader, "rate", "0.1", fault.rate, 0, 1);
    case FaultKind::Reordering:
      return need_duration(reader, "window", "100ms", fault.window);
    case FaultKind::ControllerCrash:
      return reader.read_enum("point", fault.point);
    case FaultKind::ClockStep:
      return read_step(reader, fault.step);
    case FaultKind::SubMasterCrash:
      if (!reader.has("arrow")) reader.missing("arrow", "arrow: asked");
      return reader.read_enum("arrow", fault.arrow);
    case FaultKind::Delete:
    case FaultKind::Hang:
    case FaultKind::Stuck:
    case FaultKind::Down:
    case FaultKind::Up:
    case FaultKind::AgentCrash:
    case FaultKind::Cordon:
    case FaultKind::Uncordon:
    case FaultKind::SecondLeader:
    case FaultKind::ControllerPause:
    case FaultKind::StoreFail:
    case FaultKind::StoreTorn:
      return;
  }
}

// --- when ---

void read_when(const MapReader& reader,
               const Rule& rule,
               const FaultIndex& index,
               const Scenario& scenario,
               Fault& fault) {
  const bool timed = reader.has("at");
  const bool follows = reader.has("after_event");
  // A sub-master dies at a message, whenever that comes.
  if (!timed && !follows && rule.target != Target::SubMaster)
    reader.missing("at", "at: 60s, or after_event: {event: ready}");
  if (timed && follows)
    reader.fail("after_event", "stands beside 'at', one of them says when; remove the other");
  reader.read_instant("at", fault.at);
  if (follows) fault.after = read_after_event(reader, index, scenario);
  if (follows && fault.after->fault == scenario.faults.size())
    reader.fail("after_event", "waits for this very fault, another one is needed; name its index");
  reader.read_integer("times", fault.times, 1, 1'000'000);
  reader.read_duration("every", fault.every);
  const bool again = reader.has("every") || follows || rule.kind == FaultKind::RebootLoop ||
                     rule.target == Target::SubMaster;
  if (fault.times > 1 && !again)
    reader.fail("times",
                "stands without 'every', the time between two; add for example every: 60s");
  if (rule.kind == FaultKind::RebootLoop) return;  // Its own keys tell the times between.
  if (reader.has("every") && fault.times == 1)
    reader.fail("every", "stands without 'times', how often it strikes; add for example times: 3");
  if (reader.has("every") && fault.every.ns == 0)
    reader.fail("every", "is 0, a time above 0 is needed; write for example 60s");
}

Fault read_fault(const MapReader& reader, const FaultIndex& index, const Scenario& scenario) {
  Fault fault;
  fault.line = reader.origin().line;
  if (!reader.has("kind")) reader.missing("kind", "kind: down");
  reader.read_enum("kind", fault.kind);
  const YamlNode* kind = reader.find("kind");
  if (kind == nullptr || !kind->is_scalar() || !enum_from<FaultKind>(kind->scalar)) return fault;
  const Rule& rule = rule_of(fault.kind);
  read_when(reader, rule, index, scenario, fault);
  read_target(reader, rule, scenario, fault);
  fault.lasting = rule.lasting;
  if (reader.has("for") && reader.has("lasting"))
    reader.fail("for", "stands beside 'lasting', which means the same, one is needed; remove it");
  reader.read_duration(reader.has("for") ? "for" : "lasting", fault.lasting);
  read_own(reader, scenario, fault);
  for (Key key : section("faults").keys)
    if (reader.has(key) && !may_have(rule, key))
      reader.fail(key,
                  "has no meaning for kind " + std::string(to_string(rule.kind)) + "; remove it");
  return fault;
}

bool is_random(const YamlNode& item) {
  return item.find("process") != nullptr || item.find("preset") != nullptr;
}

}  // namespace

FaultIndex::FaultIndex(const YamlNode* faults) {
  if (faults == nullptr) return;
  std::uint32_t next = 0;
  for (const YamlNode& item : faults->items)
    positions_.push_back(is_random(item) ? std::nullopt : std::optional(next++));
}

std::optional<std::uint32_t> FaultIndex::read(const MapReader& reader) const {
  std::int64_t written = -1;
  reader.read_integer("fault", written, 0, INT32_MAX);
  if (!reader.has("fault")) reader.missing("fault", "fault: 0");
  if (written < 0) return std::nullopt;
  if (static_cast<std::size_t>(written) >= positions_.size()) {
    reader.fail("fault",
                "is " + std::to_string(written) + ", but there are " +
                    std::to_string(positions_.size()) + " faults; count from 0");
    return std::nullopt;
  }
  const auto position = positions_[static_cast<std::size_t>(written)];
  if (!position)
    reader.fail("fault",
                "is " + std::to_string(written) +
                    ", which is a process without a time of its own; name a single fault");
  return position;
}

void read_faults(const MapReader& top, Scenario& scenario) {
  const FaultIndex index(top.find("faults"));
  std::size_t position = 0;
  for (const YamlNode& item : top.items("faults")) {
    const std::string subject = "faults[" + std::to_string(position++) + "]";
    if (is_random(item))
      scenario.fault_processes.push_back(read_fault_process(
          MapReader(top.reading(), item, section("faults.process"), subject), scenario));
    else
      scenario.faults.push_back(
          read_fault(MapReader(top.reading(), item, section("faults"), subject), index, scenario));
  }
}

}  // namespace orrery::scenarios
