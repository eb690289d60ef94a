#include "sim/storm/shrink.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/job/turns.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/storm/scenario_yaml.hpp"
#include "sim/storm/storm_plan.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::Scenario;
using scenarios::ScenarioJob;

// What speaks of jobs or nodes that are not there any more goes with them.
void drop_dangling(Scenario& scenario) {
  const auto lacks = [&](const std::string& name) {
    return !name.empty() && std::none_of(scenario.jobs.begin(),
                                         scenario.jobs.end(),
                                         [&](const ScenarioJob& j) { return j.spec.name == name; });
  };
  const auto nodes = static_cast<std::size_t>(scenario.node_count());
  std::erase_if(scenario.requests, [&](const auto& request) { return lacks(request.job); });
  std::erase_if(scenario.profilings, [&](const auto& each) { return lacks(each.job); });
  std::erase_if(scenario.faults, [&](Fault& fault) {
    if (lacks(fault.job) || (fault.after && lacks(fault.after->job))) return true;
    if (fault.nodes.empty()) return false;
    std::erase_if(fault.nodes, [&](NodeId node) { return node.index() >= nodes; });
    return fault.nodes.empty();
  });
}

class Shrinker {
 public:
  Shrinker(const Scenario& scenario,
           const Violation& found,
           const TryScenario& attempt,
           const std::function<bool()>& go_on)
      : best_{scenario, found, 0}, attempt_(attempt), go_on_(go_on) {}

  Shrunk run() {
    bool smaller = true;
    while (smaller && go_on_()) {
      smaller = false;
      smaller = shorten() || smaller;
      smaller = drop_from(
                    [](Scenario & s) -> auto& { return s.faults; }, 0) ||
                smaller;
      smaller = drop_from(
                    [](Scenario & s) -> auto& { return s.jobs; }, 1) ||
                smaller;
      smaller = drop_from(
                    [](Scenario & s) -> auto& { return s.requests; }, 0) ||
                smaller;
      smaller = drop_from(
                    [](Scenario & s) -> auto& { return s.profilings; }, 0) ||
                smaller;
      smaller = drop_from(
                    [](Scenario & s) -> auto& { return s.quotas; }, 0) ||
                smaller;
      smaller = fewer_nodes() || smaller;
      smaller = plainer_jobs() || smaller;
      smaller = plainer_scenario() || smaller;
      smaller = plainer_faults() || smaller;
    }
    return std::move(best_);
  }

 private:
  bool keep_if_broken(Scenario candidate) {
    if (!go_on_()) return false;
    drop_dangling(candidate);
    // Only what the language can say, and as it is read back, will be the answer.
    auto read = scenarios::parse_scenario(to_yaml(candidate), candidate.file);
    if (!read) return false;
    candidate = std::move(*read);
    // What a manifest does not let one change is read back as it was.
    if (to_yaml(candidate) == to_yaml(best_.scenario)) return false;
    ++best_.runs;
    std::optional<Violation> found = attempt_(candidate);
    if (!found || found->kind != best_.violation.kind) return false;
    best_.scenario = std::move(candidate);
    best_.violation = std::move(*found);
    return true;
  }

  // Chunks of a half, a quarter, ... and single entries, as long as `least` are left.
  template <class List>
  bool drop_from(const List& list, std::size_t least) {
    bool any = false;
    for (std::size_t chunk = std::max<std::size_t>(list(best_.scenario).size() / 2, 1);;
         chunk /= 2) {
      std::size_t begin = 0;
      while (begin < list(best_.scenario).size() && go_on_()) {
        Scenario candidate = best_.scenario;
        auto& items = list(candidate);
        const std::size_t end = std::min(begin + chunk, items.size());
        if (items.size() - (end - begin) < least) break;
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(begin),
                    items.begin() + static_cast<std::ptrdiff_t>(end));
        if (keep_if_broken(std::move(candidate)))
          any = true;
        else
          begin += chunk;
      }
      if (chunk <= 1) return any;
    }
  }

  // Nothing after the finding is needed; what did not end has to be given less time.
  bool shorten() {
    Scenario candidate = best_.scenario;
    const Instant until = best_.violation.kind == ViolationKind::Liveness
                              ? kStormCalmFrom + storm_patience(candidate)
                              : best_.violation.at + Duration::seconds(1);
    if (until >= candidate.until) return false;
    candidate.until = until;
    std::erase_if(candidate.jobs, [&](const ScenarioJob& job) { return job.submit > until; });
    return keep_if_broken(std::move(candidate));
  }

  bool fewer_nodes() {
    bool any = false;
    for (std::size_t g = 0; g < best_.scenario.groups.size(); ++g) {
      while (best_.scenario.groups.size() > 1 && g < best_.scenario.groups.size()) {
        Scenario candidate = best_.scenario;
        candidate.groups.erase(candidate.groups.begin() + static_cast<std::ptrdiff_t>(g));
        candidate.nodes_per_switch.erase(candidate.nodes_per_switch.begin() +
                                         static_cast<std::ptrdiff_t>(g));
        if (!keep_if_broken(std::move(candidate))) break;
        any = true;
      }
      if (g >= best_.scenario.groups.size()) break;
      while (best_.scenario.groups[g].count > 1 && go_on_()) {
        Scenario candidate = best_.scenario;
        NodeGroup& group = candidate.groups[g];
        --group.count;
        group.spares = std::min(group.spares, group.count - 1);
        if (!keep_if_broken(std::move(candidate))) break;
        any = true;
      }
      any = change([&](Scenario& s) { s.groups[g].spares = 0; }) || any;
      any = change([&](Scenario& s) { s.groups[g].nodes_per_rack = 0; }) || any;
    }
    return any;
  }

  // Tries one change; false also where it changes nothing that matters to the loop above.
  template <class Change>
  bool change(const Change& change) {
    Scenario candidate = best_.scenario;
    change(candidate);
    if (is_same(candidate)) return false;
    return keep_if_broken(std::move(candidate));
  }

  bool is_same(const Scenario& candidate) const {
    const Scenario& now = best_.scenario;
    if (candidate.groups != now.groups || !(candidate.settings == now.settings)) return false;
    if (candidate.policy.name != now.policy.name || candidate.jobs.size() != now.jobs.size())
      return false;
    for (std::size_t i = 0; i < now.jobs.size(); ++i) {
      const ScenarioJob& a = candidate.jobs[i];
      const ScenarioJob& b = now.jobs[i];
      if (!(a.spec == b.spec) || a.submit != b.submit || a.workers.size() != b.workers.size() ||
          a.ready_after != b.ready_after || a.hello_after != b.hello_after ||
          a.work.units != b.work.units || a.work.scaling != b.work.scaling)
        return false;
    }
    for (std::size_t i = 0; i < now.faults.size(); ++i) {
      const Fault& a = candidate.faults[i];
      const Fault& b = now.faults[i];
      if (a.at != b.at || a.lasting != b.lasting || a.nodes != b.nodes || a.times != b.times)
        return false;
    }
    const scenarios::Timing& s = candidate.timing;
    const scenarios::Timing& t = now.timing;
    return s.start == t.start && s.stop == t.stop && s.restore == t.restore &&
           s.rescale == t.rescale && s.checkpoint_interval == t.checkpoint_interval &&
           s.checkpoint_cost == t.checkpoint_cost &&
           candidate.planner_latency == now.planner_latency && candidate.jitter == now.jitter &&
           candidate.relaunch.answer == now.relaunch.answer;
  }

  bool plainer_jobs() {
    bool any = false;
    const JobSpec usual;
    for (std::size_t i = 0; i < best_.scenario.jobs.size() && go_on_(); ++i) {
      const auto spec = [i](Scenario& s) -> JobSpec& { return s.jobs[i].spec; };
      any = change([&](Scenario& s) {
              spec(s).family = JobFamily::Native;
              spec(s).topology = usual.topology;
              spec(s).parallel_workers = usual.parallel_workers;
            }) ||
            any;
      any = change([&](Scenario& s) { s.jobs[i].workers.clear(); }) || any;
      any = change([&](Scenario& s) { s.jobs[i].ready_after.reset(); }) || any;
      any = change([&](Scenario& s) { s.jobs[i].hello_after.reset(); }) || any;
      any = change([&](Scenario& s) { spec(s).failover = {}; }) || any;
      any = change([&](Scenario& s) { spec(s).priority = 0; }) || any;
      any = change([&](Scenario& s) { spec(s).group.clear(); }) || any;
      any = change([&](Scenario& s) { spec(s).preemptible = false; }) || any;
      any = change([&](Scenario& s) { spec(s).rescale = usual.rescale; }) || any;
      any = change([&](Scenario& s) { spec(s).recovery = usual.recovery; }) || any;
      // Its seats may be gone with the nodes: only the deadline ends the wait of a seated job.
      if (!is_seated(spec(best_.scenario)))
        any = change([&](Scenario& s) { spec(s).wait_deadline = usual.wait_deadline; }) || any;
      any = change([&](Scenario& s) { spec(s).run_deadline = usual.run_deadline; }) || any;
      any = change([&](Scenario& s) { spec(s).backoff_limit = usual.backoff_limit; }) || any;
      any = change([&](Scenario& s) { spec(s).drain_grace = usual.drain_grace; }) || any;
      any = change([&](Scenario& s) {
              spec(s).estimate_source = EstimateSource::None;
              spec(s).estimate = {};
            }) ||
            any;
      any = change([&](Scenario& s) { s.jobs[i].submit = Instant::zero(); }) || any;
      any = drop_roles(i) || any;
      any = fewer_replicas(i) || any;
    }
    return any;
  }

  bool drop_roles(std::size_t job) {
    bool any = false;
    for (std::size_t r = best_.scenario.jobs[job].spec.roles.size(); r-- > 1;) {
      Scenario candidate = best_.scenario;
      std::vector<RoleSpec>& roles = candidate.jobs[job].spec.roles.items();
      const bool led = std::any_of(roles.begin(), roles.end(), [](const RoleSpec& role) {
        return !role.master_of.is_none();
      });
      // Sub-masters name roles by index; they go first.
      if (led && roles[r].master_of.is_none()) continue;
      roles.erase(roles.begin() + static_cast<std::ptrdiff_t>(r));
      candidate.jobs[job].workers.clear();
      any = keep_if_broken(std::move(candidate)) || any;
    }
    return any;
  }

  bool fewer_replicas(std::size_t job) {
    bool any = false;
    for (std::size_t r = 0; r < best_.scenario.jobs[job].spec.roles.size(); ++r) {
      const auto role = [&](Scenario& s) -> RoleSpec& { return s.jobs[job].spec.roles[r]; };
      any = change([&](Scenario& s) { role(s).max_replicas = role(s).min_replicas; }) || any;
      any = change([&](Scenario& s) {
              role(s).max_replicas -= role(s).min_replicas - 1;
              role(s).min_replicas = 1;
            }) ||
            any;
    }
    return any;
  }

  bool plainer_scenario() {
    bool any = false;
    any = change([](Scenario& s) { s.policy = {}; }) || any;
    any = change([](Scenario& s) { s.planner_latency = {}; }) || any;
    any = change([](Scenario& s) { s.jitter = {}; }) || any;
    any = change([](Scenario& s) { s.jitter.timers = {}; }) || any;
    any = change([](Scenario& s) { s.jitter.batches = {}; }) || any;
    any = change([](Scenario& s) { s.jitter.planner = {}; }) || any;
    any = change([](Scenario& s) { s.jitter.clocks_ppm = 0; }) || any;
    any = change([](Scenario& s) { s.jitter.plans_lost = 0; }) || any;
    any = change([](Scenario& s) { s.jitter.plans_garbled = 0; }) || any;
    any = change([](Scenario& s) { s.timing.start = {}; }) || any;
    any = change([](Scenario& s) { s.timing.stop = {}; }) || any;
    any = change([](Scenario& s) { s.timing.restore = {}; }) || any;
    any = change([](Scenario& s) { s.timing.rescale = {}; }) || any;
    any =
        change([](Scenario& s) { s.timing.checkpoint_interval = s.timing.checkpoint_cost = {}; }) ||
        any;
    any = change([](Scenario& s) { s.relaunch = {}; }) || any;
    any = change([](Scenario& s) {
            const Duration exclusion = s.settings.exclusion;
            s.settings = {};
            s.settings.exclusion = exclusion;
            // Another margin has another bound for clocks and timers.
            s.jitter = within_margin(s.jitter, s.settings);
          }) ||
          any;
    any = change([](Scenario& s) { s.settings.lemon_incidents = 0; }) || any;
    any = change([](Scenario& s) { s.settings.preemption_grace = {}; }) || any;
    any = change([](Scenario& s) { s.settings.kill_deadline = Settings{}.kill_deadline; }) || any;
    return any;
  }

  bool plainer_faults() {
    bool any = false;
    const Duration second = Duration::seconds(1);
    for (std::size_t i = 0; i < best_.scenario.faults.size() && go_on_(); ++i) {
      any = change([&](Scenario& s) {
              Fault& fault = s.faults[i];
              fault.at = Instant{fault.at.ns / second.ns * second.ns};
              if (!fault.lasting.is_forever())
                fault.lasting =
                    Duration{(fault.lasting.ns + second.ns - 1) / second.ns * second.ns};
            }) ||
            any;
      any = change([&](Scenario& s) {
              if (s.faults[i].nodes.size() > 1) s.faults[i].nodes.resize(1);
            }) ||
            any;
      any = change([&](Scenario& s) { s.faults[i].times = 1; }) || any;
    }
    return any;
  }

  Shrunk best_;
  const TryScenario& attempt_;
  const std::function<bool()>& go_on_;
};

}  // namespace

Shrunk shrink(const Scenario& scenario,
              const Violation& found,
              const TryScenario& attempt,
              const std::function<bool()>& go_on) {
  return Shrinker(scenario, found, attempt, go_on).run();
}

}  // namespace orrery::sim
