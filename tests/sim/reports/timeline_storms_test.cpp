// The timeline of random scenarios against the ledger itself, looked at after every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/reports/timeline.hpp"
#include "sim/run/run.hpp"
#include "tests/sim/storm/storm_policies.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sim {
namespace {

/// So long a job held a device: node, bit, job, from, to in nanoseconds.
using Holding = std::tuple<std::uint32_t, int, std::uint32_t, std::int64_t, std::int64_t>;

/// Neighbours of one device and job as one, none without length; ascending.
std::vector<Holding> joined(std::vector<Holding> holdings) {
  std::ranges::sort(holdings);
  std::vector<Holding> out;
  for (const Holding& next : holdings) {
    const auto& [node, bit, job, from, to] = next;
    if (from == to) continue;
    const bool goes_on = !out.empty() && std::get<0>(out.back()) == node &&
                         std::get<1>(out.back()) == bit && std::get<2>(out.back()) == job &&
                         std::get<4>(out.back()) >= from;
    if (goes_on) {
      std::get<4>(out.back()) = std::max(std::get<4>(out.back()), to);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

/// Hears a run with a timeline, and looks into the ledger at each of its steps.
class LedgerWatch final : public RunListener {
 public:
  explicit LedgerWatch(const scenarios::Scenario& scenario) : timeline(scenario.groups) {}

  void on_submitted(JobId job, const JobSpec&, const JobFacts& facts) override {
    timeline.submitted(job, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices, const State& state, const JobTable&) override {
    timeline.observe(notices, state);
    for (const Notice& notice : notices)
      if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to))
        ends_[notice.job.value] = notice.occurred_at.ns;
    std::map<std::tuple<std::uint32_t, int, std::uint32_t>, std::int64_t> now;
    for (std::uint32_t n = 0; n < state.ledger.node_count(); ++n) {
      LeaseId id = state.ledger.node(NodeId{n}).first;
      for (; !id.is_none(); id = state.ledger.lease(id).next) {
        const Lease& lease = state.ledger.lease(id);
        const JobState* job = state.find(lease.owner);
        if (lease.stage == LeaseStage::Releasing || job == nullptr || is_final(job->row.phase))
          continue;
        for (std::uint64_t left = lease.devices; left != 0; left &= left - 1)
          now.emplace(std::tuple(n, std::countr_zero(left), lease.owner.value), state.now.ns);
      }
    }
    for (auto& [held, since] : now)
      if (const auto before = held_.find(held); before != held_.end()) since = before->second;
    for (const auto& [held, since] : held_)
      if (!now.contains(held)) put(held, since, state.now.ns);
    held_ = std::move(now);
  }

  /// What the ledger said, of each job up to its end in the world.
  std::vector<Holding> of_ledger(Instant end) {
    for (const auto& [held, since] : held_) put(held, since, end.ns);
    held_.clear();
    for (auto& [node, bit, job, from, to] : holdings_)
      if (const auto over = ends_.find(job); over != ends_.end())
        to = std::max(from, std::min(to, over->second));
    return joined(holdings_);
  }

  /// What the timeline says.
  std::vector<Holding> of_timeline(Instant end) {
    timeline.close(end);
    std::vector<Holding> out;
    for (const Segment& segment : timeline.segments())
      for (const DevicePart& part : timeline.parts(segment))
        for (std::uint64_t left = part.devices; left != 0; left &= left - 1)
          out.emplace_back(part.node.value,
                           std::countr_zero(left),
                           segment.job.value,
                           segment.from.ns,
                           segment.to.ns);
    return joined(std::move(out));
  }

  Timeline timeline;

 private:
  void put(const std::tuple<std::uint32_t, int, std::uint32_t>& held,
           std::int64_t from,
           std::int64_t to) {
    holdings_.emplace_back(std::get<0>(held), std::get<1>(held), std::get<2>(held), from, to);
  }

  std::map<std::tuple<std::uint32_t, int, std::uint32_t>, std::int64_t> held_;
  std::vector<Holding> holdings_;
  std::map<std::uint32_t, std::int64_t> ends_;  ///< By job, in the world.
};

class TimelineStorm : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TimelineStorm, SaysWhatTheLedgerSaid) {
  scenarios::Scenario plan = plan_storm(GetParam(), tests::storm_policies());
  // A plan that is lost tells the timeline nothing; other storms are not looked at for it.
  plan.jitter.plans_lost = 0;
  plan.planner_deadline = Duration::forever();
  policies::PolicyArguments arguments;
  arguments.seed = plan.seed;
  for (const scenarios::Parameter& parameter : plan.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::make_shared<ForkedRehearsal>();
  const auto policy = policies::make_policy(plan.policy.name, arguments);
  const auto workload = LoadedWorkload::load(plan);
  ASSERT_TRUE(policy && workload);
  LedgerWatch watch(plan);
  RunOptions options;
  options.listeners = {&watch};
  // Two leaders may plan at the same time.
  options.fresh_policy = [&] {
    return std::move(policies::make_policy(plan.policy.name, arguments)).value();
  };
  const auto report = run_model(plan, *workload, **policy, options);
  ASSERT_TRUE(report);
  const std::vector<Holding> expected = watch.of_ledger(report->ended_at);
  const std::vector<Holding> found = watch.of_timeline(report->ended_at);
  EXPECT_FALSE(expected.empty());
  std::vector<Holding> differences;
  std::ranges::set_symmetric_difference(found, expected, std::back_inserter(differences));
  EXPECT_TRUE(differences.empty())
      << "seed " << GetParam() << ": " << testing::PrintToString(differences);

  double device_ns = 0;
  for (const Segment& segment : watch.timeline.segments()) {
    EXPECT_LT(segment.from, segment.to);
    EXPECT_LE(segment.to, watch.timeline.end());
  }
  std::map<std::pair<std::uint32_t, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> used;
  for (const auto& [node, bit, job, from, to] : found) used[{node, bit}].emplace_back(from, to);
  for (auto& [device, spans] : used) {
    std::ranges::sort(spans);
    std::int64_t until = 0;
    for (const auto& [from, to] : spans) {
      device_ns += static_cast<double>(std::max(to - std::max(from, until), std::int64_t{0}));
      until = std::max(until, to);
    }
  }
  EXPECT_NEAR(static_cast<double>(watch.timeline.device_time().in_use), device_ns, 1e3);
}

INSTANTIATE_TEST_SUITE_P(Seeds,
                         TimelineStorm,
                         testing::Range<std::uint64_t>(1, tests::count_of(80, 400) + 1));
// Two leases that were read when they belonged to another job, and ends that no notice names.
INSTANTIATE_TEST_SUITE_P(Found,
                         TimelineStorm,
                         testing::Values<std::uint64_t>(925, 1417, 1430, 2074, 3666));

}  // namespace
}  // namespace orrery::sim
