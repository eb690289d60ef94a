#include "tools/cluster_world/scaled_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>
#include <string>
#include <type_traits>

#include "core/queues/queue_text.hpp"
#include "policies/elasticflow.hpp"
#include "policies/registry.hpp"
#include "policies/twin/candidates.hpp"
#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::cli {
namespace {

using scenarios::Scenario;

/// Divides every duration that the field lists of records name, at any depth.
class Divider {
 public:
  explicit Divider(double by) : by_(by) {}

  Duration of(Duration time) const {
    if (time.is_forever() || time == Duration::zero()) return time;
    const auto parts = static_cast<std::int64_t>(std::llround(static_cast<double>(time.ns) / by_));
    // What takes time at all goes on taking some.
    return Duration{parts == 0 ? (time.ns > 0 ? 1 : -1) : parts};
  }

  Instant of(Instant at) const { return at.is_never() ? at : kScenarioBegin + of(Duration{at.ns}); }

  template <class T>
  void field(const char*, T& value) {
    divide(value);
  }

  template <class T, class... Missing>
  void field_since(std::uint16_t, const char*, T& value, const Missing&...) {
    divide(value);
  }

  template <class T>
  void divide(T& value) {
    if constexpr (std::is_same_v<T, Duration> || std::is_same_v<T, Instant>) {
      value = of(value);
    } else if constexpr (requires {
                           value.edit();
                           value.tidy();
                         }) {
      // A part that has nothing but defaults has their times.
      if constexpr (requires { T::fields; } || std::is_class_v<std::decay_t<decltype(*value)>>)
        divide(value.edit());
      value.tidy();
    } else if constexpr (requires { value.items(); }) {
      for (auto& item : value.items()) divide(item);
    } else if constexpr (requires {
                           value.begin();
                           value.end();
                           value.push_back(*value.begin());
                         }) {
      for (auto& item : value)
        if constexpr (std::is_class_v<std::decay_t<decltype(item)>>) divide(item);
    } else if constexpr (requires { T::fields(value, *this); }) {
      T::fields(value, *this);
    }
  }

 private:
  double by_;
};

/// After a crash the next controller comes, in every world.
constexpr Duration kNextController = Duration::seconds(5);

void scale_fault(scenarios::Fault& fault, const Divider& by) {
  if (fault.kind == scenarios::FaultKind::ControllerCrash && fault.lasting.is_forever())
    fault.lasting = kNextController;
  fault.at = by.of(fault.at);
  if (fault.after) fault.after->delay = by.of(fault.after->delay);
  for (Duration* time :
       {&fault.every, &fault.lasting, &fault.added, &fault.window, &fault.notice, &fault.step})
    *time = by.of(*time);
}

/// What is said of a node has its name too, where it has one: "node 0 (node-0)".
std::string with_node_names(const std::string& says) {
  static const std::regex kNode("\\bnode ([0-9]+)\\b");
  return std::regex_replace(says, kNode, "node $1 (node-$1)");
}

void scale_expectation(scenarios::Expectation& expected, const Divider& by) {
  const auto limit = [&](Duration time) { return time.is_forever() ? time : by.of(time) + kSlack; };
  expected.says = with_node_names(expected.says);
  expected.after = by.of(expected.after);
  if (!expected.by.is_never()) expected.by = by.of(expected.by) + kSlack;
  expected.within = limit(expected.within);
  if (expected.waited_less_than) expected.waited_less_than = limit(*expected.waited_less_than);
  if (expected.mttr_less_than) expected.mttr_less_than = limit(*expected.mttr_less_than);
  if (expected.recovered_within) expected.recovered_within = limit(*expected.recovered_within);
}

/// A duration as users write it; one that cannot be read stays as it is.
std::string divided_time(const std::string& text, const Divider& by) {
  const auto time = scenarios::parse_duration(text);
  return time ? std::to_string(by.of(*time).ns) + "ns" : text;
}

void scale_job(scenarios::ScenarioJob& job, double faster, Divider& by) {
  by.divide(job.spec);
  job.submit = by.of(job.submit);
  job.work.base_rate *= faster;
  for (scenarios::WorkerScript& script : job.workers) script.after = by.of(script.after);
  if (job.ready_after) *job.ready_after = by.of(*job.ready_after);
  if (job.hello_after) *job.hello_after = by.of(*job.hello_after);
  for (KeyValue& label : job.spec.labels.items())
    if (label.key == policies::kDeadlineLabel) label.value = divided_time(label.value, by);
}

/// Whole seconds of service, one number or several joined by ",", each at least 1.
std::string divided_services(const std::string& text, const Divider& by) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string each = text.substr(begin, end - begin);
    const auto time = scenarios::parse_duration(each + "s");
    if (!out.empty()) out += ",";
    out +=
        time && *time > Duration::zero()
            ? std::to_string(std::max<std::int64_t>(by.of(*time).ns / Duration::seconds(1).ns, 1))
            : each;
    begin = end + 1;
  }
  return out;
}

/// The tree with its times divided, a second at least for those that must not be less.
void scale_queues(scenarios::PolicyChoice& policy, const Divider& by) {
  for (scenarios::Parameter& parameter : policy.parameters) {
    if (parameter.key != kQueuesParameter) continue;
    Result<QueuesSpec> spec = parsed_queues(parameter.value);
    if (!spec) continue;
    spec->period = std::max(by.of(spec->period), Duration::seconds(1));
    spec->patience = std::max(by.of(spec->patience), Duration::seconds(1));
    if (spec->half_life > Duration::zero())
      spec->half_life = std::max(by.of(spec->half_life), Duration::seconds(60));
    parameter.value = queues_text(*spec);
  }
}

void scale_policy(scenarios::PolicyChoice& policy, const Divider& by);

/// Each policy of a policy that holds several.
std::string scaled_candidates(const std::string& text, const Divider& by) {
  const auto candidates = policies::parsed_candidates(text);
  if (!candidates) return text;
  std::string out;
  for (const policies::CandidateText& candidate : *candidates) {
    scenarios::PolicyChoice choice{candidate.policy, {}, {}};
    for (const auto& [key, value] : candidate.parameters)
      choice.parameters.push_back({key, value, {}});
    scale_policy(choice, by);
    policies::CandidateText scaled{choice.name, {}};
    for (const scenarios::Parameter& parameter : choice.parameters)
      scaled.parameters[parameter.key] = parameter.value;
    out += (out.empty() ? "" : "; ") + policies::text_of(scaled);
  }
  return out;
}

/// Times that are left to the policy's defaults are said, as they are divided too.
// NOLINTNEXTLINE(misc-no-recursion): one level, no candidate holds others
void scale_policy(scenarios::PolicyChoice& policy, const Divider& by) {
  scale_queues(policy, by);
  const policies::PolicyRow* row = policies::find_row(policy.name);
  if (row == nullptr) return;
  for (const policies::ParameterRow& parameter : row->parameters) {
    const bool service = parameter.unit.ends_with("-seconds");
    const bool candidates = parameter.name == policies::kCandidatesParameter;
    if (parameter.type != policies::ParameterType::Duration && !service && !candidates) continue;
    auto written = std::ranges::find(policy.parameters, parameter.name, &scenarios::Parameter::key);
    if (written == policy.parameters.end() && parameter.initial.empty()) continue;
    if (written == policy.parameters.end())
      written = policy.parameters.insert(
          policy.parameters.end(),
          {std::string(parameter.name), std::string(parameter.initial), policy.place});
    written->value = candidates ? scaled_candidates(written->value, by)
                     : service  ? divided_services(written->value, by)
                                : divided_time(written->value, by);
  }
}

}  // namespace

Scenario scaled(const Scenario& scenario) {
  Scenario out = scenario;
  Divider by(scenario.time_scale);
  by.divide(out.settings);
  for (Duration* time : {&out.planner_latency,
                         &out.timing.start,
                         &out.timing.stop,
                         &out.timing.restore,
                         &out.timing.rescale,
                         &out.timing.checkpoint_interval,
                         &out.timing.checkpoint_cost,
                         &out.timing.tick,
                         &out.timing.restart,
                         &out.relaunch.after})
    *time = by.of(*time);
  for (scenarios::TimeSpread* spread : {&out.timing.spread.start,
                                        &out.timing.spread.stop,
                                        &out.timing.spread.restore,
                                        &out.timing.spread.rescale})
    for (Duration& time : spread->quantiles) time = by.of(time);
  scale_policy(out.policy, by);
  for (scenarios::ScenarioJob& job : out.jobs) scale_job(job, scenario.time_scale, by);
  for (scenarios::TimedRequest& request : out.requests) {
    request.at = by.of(request.at);
    if (!request.change) continue;
    for (std::optional<Duration>* time :
         {&request.change->wait_deadline, &request.change->run_deadline})
      if (*time) **time = by.of(**time);
  }
  for (scenarios::TimedProfiling& profiling : out.profilings) profiling.at = by.of(profiling.at);
  for (scenarios::Fault& fault : out.faults) scale_fault(fault, by);
  for (scenarios::Expectation& expected : out.expectations) scale_expectation(expected, by);
  if (!out.until.is_never()) out.until = by.of(out.until) + kSlack;
  return out;
}

}  // namespace orrery::cli
