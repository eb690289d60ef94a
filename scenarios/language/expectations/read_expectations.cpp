#include <algorithm>
#include <utility>
#include <vector>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kCountMax = INT32_MAX;

/// Keys that speak of one job.
constexpr std::string_view kOfJob[]{"phase",
                                    "replicas",
                                    "restarts",
                                    "role_restarts",
                                    "job_restarts",
                                    "reschedules",
                                    "generation",
                                    "preemptions",
                                    "node_losses",
                                    "reason",
                                    "says",
                                    "waited_less_than",
                                    "phases",
                                    "restarted",
                                    "not_restarted",
                                    "worker_restarts",
                                    "untouched",
                                    "lost_work_less_than",
                                    "sits"};
/// Keys that speak of one job or of all.
constexpr std::string_view kOfBoth[]{
    "ignored", "incidents", "mttr_less_than", "recovered_within", "nodes_relaunched"};
/// Keys that speak of the whole run.
constexpr std::string_view kOfRun[]{"jobs_finished",
                                    "jobs_failed",
                                    "no_worker_restarted",
                                    "excluded",
                                    "spares_used",
                                    "epochs",
                                    "events_at_most"};

/// Begins the window at a fault: at its time, or when it strikes where only the run tells.
void begin_at_fault(const MapReader& after,
                    const FaultIndex& index,
                    const Scenario& scenario,
                    Expectation& to) {
  const auto position = index.read(after);
  if (!position) return;
  const Fault& fault = scenario.faults[*position];
  if (fault.after || fault.kind == FaultKind::SubMasterCrash)
    to.after_fault = position;
  else
    to.after = fault.at;
}

void read_window(const MapReader& reader,
                 const FaultIndex& index,
                 const Scenario& scenario,
                 Expectation& to) {
  if (const YamlNode* node = reader.find("after")) {
    if (node->is_map())
      begin_at_fault(
          MapReader(reader.reading(), *node, section("expect.after"), reader.subject_of("after")),
          index,
          scenario,
          to);
    else
      reader.read_instant("after", to.after);
  }
  reader.read_instant("by", to.by);
  if (reader.has("within")) {
    reader.read_duration("within", to.within);
    if (reader.has("by"))
      reader.fail("within", "stands beside 'by', which says the same otherwise; keep one");
    to.by = to.after + to.within;
  }
  if (reader.has("after") && !reader.has("by") && !reader.has("within"))
    reader.fail("after", "stands without 'within' or 'by', which end the time; add one");
  if (to.by < to.after) reader.fail("by", "lies before 'after'; exchange them");
  const bool timed = reader.has("by") || reader.has("within");
  if (timed && !to.phase && !to.replicas && to.says.empty() && to.sits.empty())
    reader.fail(
        reader.has("by") ? "by" : "within",
        "stands without phase, replicas, says or sits, which it is about; add one or remove it");
}

void read_phases(const MapReader& reader, std::vector<JobPhase>& phases) {
  if (reader.has("phases") && reader.items("phases").empty())
    reader.fail("phases", "is empty, and a job is Pending at least; name all that it goes through");
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
  count("role_restarts", to.role_restarts);
  count("job_restarts", to.job_restarts);
  count("nodes_relaunched", to.nodes_relaunched);
  count("spares_used", to.spares_used);
  count("epochs", to.epochs);
  count("events_at_most", to.events_at_most);
  count("generation", to.generation);
  count("jobs_finished", to.jobs_finished);
  count("jobs_failed", to.jobs_failed);
}

/// Reports expectations of nothing, of a job that is not named, and of one where the run is meant.
void check_subjects(const MapReader& reader) {
  const auto has = [&](std::string_view key) { return reader.has(key); };
  if (std::none_of(std::begin(kOfJob), std::end(kOfJob), has) &&
      std::none_of(std::begin(kOfBoth), std::end(kOfBoth), has) &&
      std::none_of(std::begin(kOfRun), std::end(kOfRun), has))
    reader.reading().fail(reader.origin(),
                          reader.subject(),
                          "expects nothing, something is needed; write for example {job: train, "
                          "phase: Succeeded}");
  if (reader.has("job")) {
    for (std::string_view key : kOfRun)
      if (reader.has(key)) reader.fail(key, "stands with 'job', and speaks of all; remove job");
    return;
  }
  for (std::string_view key : kOfJob)
    if (reader.has(key)) reader.fail(key, "stands without 'job', whose it is; add job: NAME");
}

void read_true(const MapReader& reader, std::string_view key, bool& to) {
  reader.read_bool(key, to);
  const YamlNode* node = reader.find(key);
  if (node != nullptr && node->is_scalar() && node->scalar == "false")
    reader.fail(key, "is false, true is needed; write " + std::string(key) + ": true or remove it");
}

/// A number of incidents altogether, or numbers by cause.
void read_incidents(const MapReader& reader, Expectation& to) {
  const YamlNode* node = reader.find("incidents");
  if (node == nullptr) return;
  if (node->is_scalar()) {
    to.incidents.emplace(0);
    return reader.read_integer("incidents", *to.incidents, 0, kCountMax);
  }
  if (!node->is_map())
    return reader.fail(
        "incidents",
        found_instead(
            *node, "a number, or numbers by cause", "write for example {WorkerFailed: 1}"));
  for (const YamlEntry& entry : node->entries) {
    const auto cause = enum_from<Reason>(entry.key);
    const std::int64_t count =
        entry.value.is_scalar() ? parse_integer(entry.value.scalar).value_or(-1) : -1;
    const std::string subject = reader.subject_of("incidents") + "." + entry.key;
    if (!cause) {
      std::vector<std::string_view> reasons(EnumNames<Reason>::kNames.begin(),
                                            EnumNames<Reason>::kNames.end());
      const std::string_view near = nearest(entry.key, reasons);
      reader.reading().fail(entry.key_origin,
                            subject,
                            "is no cause, a reason of incidents is needed; " +
                                (near.empty() ? std::string("write for example WorkerFailed")
                                              : "did you mean '" + std::string(near) + "'?"));
    } else if (count < 0 || count > kCountMax) {
      reader.reading().fail(entry.value.origin,
                            subject,
                            found_instead(entry.value, "a whole number from 0", "correct it"));
    } else {
      to.incidents_of.push_back({*cause, static_cast<std::int32_t>(count)});
    }
  }
}

void read_excluded(const MapReader& reader, const Scenario& scenario, Expectation& to) {
  if (!reader.has("excluded")) return;
  to.excluded.emplace();
  read_node_list(reader, "excluded", scenario, *to.excluded);
}

Expectation read_expectation(const MapReader& reader,
                             const FaultIndex& index,
                             const Scenario& scenario) {
  Expectation to;
  to.line = reader.origin().line;
  const ScenarioJob* job = read_job_name(reader, "job", scenario, to.job);
  reader.read_enum("phase", to.phase);
  read_counts(reader, to);
  reader.read_enum("reason", to.reason);
  reader.read_text("says", to.says);
  if (reader.has("says") && to.says.empty())
    reader.fail("says", "is empty, which every message holds; write a part of what it shall say");
  const auto time = [&](std::string_view key, std::optional<Duration>& value) {
    if (!reader.has(key)) return;
    value.emplace();
    reader.read_duration(key, *value);
  };
  time("waited_less_than", to.waited_less_than);
  time("mttr_less_than", to.mttr_less_than);
  time("recovered_within", to.recovered_within);
  read_true(reader, "no_worker_restarted", to.no_worker_restarted);
  read_true(reader, "untouched", to.untouched);
  read_expected_workers(reader, job, scenario, to);
  read_incidents(reader, to);
  read_excluded(reader, scenario, to);
  read_phases(reader, to.phases);
  read_ignored(reader, to);
  read_window(reader, index, scenario, to);

  check_subjects(reader);
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
