#include <algorithm>
#include <utility>

#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kCountMax = INT32_MAX;

/// Keys that speak of one job.
constexpr std::string_view kOfJob[]{"phase",
                                    "replicas",
                                    "restarts",
                                    "reschedules",
                                    "generation",
                                    "preemptions",
                                    "node_losses",
                                    "reason",
                                    "waited_less_than",
                                    "phases"};
/// Keys that are something to expect by themselves.
constexpr std::string_view kOfRun[]{"jobs_finished", "jobs_failed", "ignored"};

/// The time of the fault that `after` names, in the file's list.
Instant fault_time(const MapReader& after, const FaultIndex& index, const Scenario& scenario) {
  const auto position = index.read(after);
  if (!position) return Instant::zero();
  const Fault& fault = scenario.faults[*position];
  if (!fault.after && fault.kind != FaultKind::SubMasterCrash) return fault.at;
  after.fail("fault", "strikes at an event, a fault with 'at' is needed; name one");
  return Instant::zero();
}

void read_window(const MapReader& reader,
                 const FaultIndex& index,
                 const Scenario& scenario,
                 Expectation& to) {
  if (const YamlNode* node = reader.find("after")) {
    if (node->is_map()) {
      const MapReader after(
          reader.reading(), *node, section("expect.after"), reader.subject_of("after"));
      to.after = fault_time(after, index, scenario);
    } else {
      reader.read_instant("after", to.after);
    }
  }
  reader.read_instant("by", to.by);
  if (reader.has("within")) {
    Duration within;
    reader.read_duration("within", within);
    if (reader.has("by"))
      reader.fail("within", "stands beside 'by', which says the same otherwise; keep one");
    to.by = to.after + within;
  }
  if (reader.has("after") && !reader.has("by") && !reader.has("within"))
    reader.fail("after", "stands without 'within' or 'by', which end the time; add one");
  if (to.by < to.after) reader.fail("by", "lies before 'after'; exchange them");
  const bool timed = reader.has("by") || reader.has("within");
  if (timed && !to.phase && !to.replicas)
    reader.fail(reader.has("by") ? "by" : "within",
                "stands without phase or replicas, which it is about; add one or remove it");
}

void read_phases(const MapReader& reader, std::vector<JobPhase>& phases) {
  for (const YamlNode& item : reader.items("phases")) {
    const auto phase = item.is_scalar() ? enum_from<JobPhase>(item.scalar) : std::nullopt;
    if (phase)
      phases.push_back(*phase);
    else
      reader.reading().fail(
          item.origin,
          reader.subject_of("phases"),
          found_instead(item, "one of " + enum_choices<JobPhase>(), "choose one"));
  }
}

void read_ignored(const MapReader& reader, Expectation& to) {
  const YamlNode* node = reader.find("ignored");
  if (node == nullptr) return;
  const MapReader ignored(
      reader.reading(), *node, section("expect.ignored"), reader.subject_of("ignored"));
  if (!ignored.has("reason")) ignored.missing("reason", "ignored: {reason: StaleGeneration}");
  ignored.read_enum("reason", to.ignored);
  ignored.read_integer("at_least", to.at_least, 1, kCountMax);
}

void read_counts(const MapReader& reader, Expectation& to) {
  const auto count = [&](std::string_view key, auto& value) {
    if (!reader.has(key)) return;
    value.emplace(0);
    reader.read_integer(key, *value, 0, kCountMax);
  };
  count("replicas", to.replicas);
  count("restarts", to.restarts);
  count("reschedules", to.reschedules);
  count("preemptions", to.preemptions);
  count("node_losses", to.node_losses);
  count("generation", to.generation);
  count("jobs_finished", to.jobs_finished);
  count("jobs_failed", to.jobs_failed);
}

Expectation read_expectation(const MapReader& reader,
                             const FaultIndex& index,
                             const Scenario& scenario) {
  Expectation to;
  to.line = reader.origin().line;
  read_job_name(reader, "job", scenario, to.job);
  reader.read_enum("phase", to.phase);
  read_counts(reader, to);
  reader.read_enum("reason", to.reason);
  if (reader.has("waited_less_than")) {
    to.waited_less_than = Duration::zero();
    reader.read_duration("waited_less_than", *to.waited_less_than);
  }
  read_phases(reader, to.phases);
  read_ignored(reader, to);
  read_window(reader, index, scenario, to);

  const auto has = [&](std::string_view key) { return reader.has(key); };
  if (std::none_of(std::begin(kOfJob), std::end(kOfJob), has) &&
      std::none_of(std::begin(kOfRun), std::end(kOfRun), has))
    reader.reading().fail(reader.origin(),
                          reader.subject(),
                          "expects nothing, something is needed; write for example {job: train, "
                          "phase: Succeeded}");
  if (!reader.has("job"))
    for (std::string_view key : kOfJob)
      if (reader.has(key)) reader.fail(key, "stands without 'job', whose it is; add job: NAME");
  return to;
}

}  // namespace

void read_expectations(const MapReader& top, Scenario& scenario) {
  const FaultIndex index(top.find("faults"));
  for (const YamlNode& item : top.items("expect")) {
    const std::string subject = "expect[" + std::to_string(scenario.expectations.size()) + "]";
    const MapReader reader(top.reading(), item, section("expect"), subject);
    scenario.expectations.push_back(read_expectation(reader, index, scenario));
  }
}

}  // namespace orrery::scenarios
