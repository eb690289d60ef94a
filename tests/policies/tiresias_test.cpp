// Tiresias decides as its rule, written down without any shortcut; its Gittins index is the
// published simulator's, or the true one.
#include "policies/tiresias.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/priority_placement.hpp"
#include "tests/policies/ask.hpp"
#include "tests/policies/contract.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/long_form.hpp"

namespace orrery {
namespace {

using policies::GittinsTable;
using policies::Tiresias;
using policies::TiresiasParameters;
using ::testing::ElementsAre;
using testing::FakeCluster;
using testing::FakeRun;
using testing::JobBuilder;
using testing::runs;

// ---- The rule ----

/// All jobs in one list, looked at anew in each cycle.
class PlainTiresias {
 public:
  explicit PlainTiresias(TiresiasParameters parameters) : parameters_(std::move(parameters)) {}

  Plan optimize(const ClusterView& view) {
    std::vector<JobId> jobs = policies::jobs_in_order(view);
    for (const JobId id : jobs) move(view, view.job(id));
    std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
      return place_of(view, a) < place_of(view, b);
    });
    std::vector<Blocked> blocked;
    tried_.clear();
    Plan plan;
    while (!placed(view, jobs, blocked, plan)) plan = {};
    return plan;
  }

 private:
  struct Entry {
    std::size_t queue = 0;
    Instant at;
    std::uint64_t order = 0;
    std::int64_t forgiven_us = 0;
  };

  static std::int32_t size_of(const JobView& job) {
    if (job.row.holds) return job.row.replicas;
    return std::clamp(rigid_replicas(job.spec), job.row.min_replicas, job.row.max_replicas);
  }

  static std::int32_t devices(const JobView& job) {
    return size_of(job) * job.row.demand.devices + job.row.rest_devices;
  }

  Entry& entry(const ClusterView& view, JobId id) {
    return entries_.try_emplace(id, Entry{0, view.row(id).submitted, 0, 0}).first->second;
  }

  std::int64_t service(const ClusterView& view, JobId id) {
    return view.row(id).attained_device_us(view.now()) - entry(view, id).forgiven_us;
  }

  void move(const ClusterView& view, const JobView& job) {
    const JobId id = job.row.id;
    Entry& at = entry(view, id);
    std::size_t queue = 0;
    for (const std::int64_t threshold : parameters_.thresholds_device_s)
      if (service(view, id) >= threshold * 1'000'000) ++queue;
    if (queue > at.queue) at = {queue, view.now(), ++moves_, at.forgiven_us};
    if (job.row.holds || at.queue == 0 || parameters_.promote_after <= 0) return;
    const double ran_s =
        static_cast<double>(service(view, id)) / 1'000'000 / std::max(1, devices(job));
    const Duration waited = view.now() - job.row.attained_as_of;
    if (ran_s > 0 && waited >= Duration::from_seconds(ran_s * parameters_.promote_after))
      at = {0, view.now(), ++moves_, job.row.attained_us};
  }

  using Place = std::tuple<std::int32_t, std::size_t, std::int64_t, Instant, std::uint64_t, JobId>;

  Place place_of(const ClusterView& view, JobId id) {
    const Entry& at = entry(view, id);
    if (parameters_.gittins.empty())
      return {-view.row(id).priority, at.queue, 0, at.at, at.order, id};
    const std::int64_t index = parameters_.gittins.index_at(service(view, id));
    return {-view.row(id).priority, at.queue, -index, view.row(id).submitted, 0, id};
  }

  /// A job that found no place.
  struct Blocked {
    JobId job;
    bool with_all_like_it;  ///< Those of its shape and quotas that come behind it.
  };

  using Kind = std::tuple<policies::GangShape, std::uint32_t, std::uint32_t>;

  static Kind kind(const ClusterView& view, JobId id) {
    const JobView job = view.job(id);
    return {
        policies::shape_of(view, job, size_of(job)), job.row.quota_group, job.row.quota_namespace};
  }

  bool is_blocked(const ClusterView& view, const std::vector<Blocked>& blocked, JobId id) {
    return !view.row(id).holds && std::any_of(blocked.begin(), blocked.end(), [&](auto other) {
      return other.job == id ||
             (other.with_all_like_it && kind(view, other.job) == kind(view, id) &&
              place_of(view, other.job) < place_of(view, id));
    });
  }

  bool placed(const ClusterView& view,
              const std::vector<JobId>& queue,
              std::vector<Blocked>& blocked,
              Plan& plan) {
    std::vector<JobId> starting;
    std::vector<policies::SizedJob> chosen;
    std::int32_t lowest = INT32_MAX;
    policies::ClosedNodes closed;
    closed.begin(view);
    std::int64_t left = policies::thousandths_to_share(view, closed);
    for (const JobId id : queue) {
      const JobView job = view.job(id);
      if (job.row.holds && job.row.is_fixed()) continue;
      const std::int64_t wanted = job.row.thousandths_at(size_of(job));
      const bool run = wanted <= left && !is_blocked(view, blocked, id) &&
                       (job.row.holds || view.quota_allows(id, devices(job)));
      if (run) left -= wanted;
      if (run && !job.row.holds) starting.push_back(id);
      if (!run && job.row.holds) plan.preempt(id);
      if (job.row.holds) lowest = std::min(lowest, job.row.priority);
      if (run || job.row.holds)
        chosen.push_back({id, run ? size_of(job) : 0, run ? size_of(job) : 0});
    }
    const bool takes = !plan.empty();
    placer_.begin(view);
    for (const Grant& grant : plan.grants) placer_.give_back(view, view.job(grant.job));
    const std::size_t before = blocked.size();
    std::set<JobId> unplaced;
    JobId first;
    for (const JobId id : starting) {
      std::vector<NodeCount> nodes;
      if (placer_.place(view, view.job(id), size_of(view.job(id)), nodes)) {
        policies::grant_on(id, size_of(view.job(id)), nodes, plan);
      } else {
        blocked.push_back({id, !takes});
        unplaced.insert(id);
        if (first.is_none()) first = id;
      }
    }
    // One of lower priority may be in the way.
    if (!first.is_none() && lowest < view.row(first).priority &&
        tried_.insert(kind(view, first)).second && by_priority_.place(view, chosen, unplaced)) {
      plan = by_priority_.plan(view);
      return true;
    }
    return blocked.size() == before;
  }

  TiresiasParameters parameters_;
  std::map<JobId, Entry> entries_;
  std::uint64_t moves_ = 0;
  policies::GangTrial placer_;
  policies::PriorityPlacement by_priority_;
  std::set<Kind> tried_;
};

/// Answers as Tiresias, and asks the rule the same.
class ComparedTiresias : public Policy {
 public:
  explicit ComparedTiresias(const TiresiasParameters& parameters)
      : policy_(parameters), plain_(parameters) {}

  std::string_view name() const override { return policy_.name(); }

  Triggers triggers() const override { return policy_.triggers(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    return policy_.allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    Plan plan = policy_.optimize(view);
    differs_ += plan == plain_.optimize(view) ? 0 : 1;
    for (const Grant& grant : plan.grants) preempted_ += grant.replicas == 0 ? 1 : 0;
    return plan;
  }

  void save(ByteWriter& out) const override { policy_.save(out); }

  void load(ByteReader& in) override { policy_.load(in); }

  int differs() const { return differs_; }

  int preempted() const { return preempted_; }

 private:
  Tiresias policy_;
  PlainTiresias plain_;
  int differs_ = 0;
  int preempted_ = 0;
};

class TiresiasRule : public ::testing::TestWithParam<int> {
 protected:
  static TiresiasParameters parameters() {
    switch (GetParam()) {
      case 0:
        return {.thresholds_device_s = {600}};
      case 1:
        return {.thresholds_device_s = {100, 1000, 10000}, .promote_after = 0.5};
      case 2:
        return {.thresholds_device_s = {1000},
                .gittins = GittinsTable({60, 600, 6000, 60000}, 3250)};
      default:
        return {.thresholds_device_s = {500, 5000},
                .promote_after = 2,
                .gittins = GittinsTable({60, 600, 700, 6000, 60000}, 0)};
    }
  }
};

TEST_P(TiresiasRule, IsKeptOnRandomHistories) {
  int preempted = 0;
  for (std::uint64_t seed = 1; seed <= tests::count_of(8, 30); ++seed) {
    ComparedTiresias policy(parameters());
    FakeRun run = testing::random_run(seed, {.several_roles = seed % 3 == 0, .quotas = true});
    run.run(policy, 3000);
    EXPECT_EQ(policy.differs(), 0) << "seed " << seed;
    preempted += policy.preempted();
  }
  EXPECT_GT(preempted, 100);
}

// Far more jobs than can run, nodes that go and come back, devices in parts.
TEST_P(TiresiasRule, IsKeptWithALongQueue) {
  for (std::uint64_t seed = 1; seed <= tests::count_of(4, 8); ++seed) {
    Random random = Random::stream(seed, "tiresias");
    FakeCluster cluster;
    cluster.add_nodes(4, 8);
    cluster.set_quota("limited", 6);
    ComparedTiresias policy(parameters());
    for (int cycle = 0; cycle < 80; ++cycle) {
      for (std::uint64_t more = random.below(12); more > 0; --more) {
        JobBuilder job;
        job.devices(static_cast<std::int32_t>(random.between(0, 8)));
        if (random.below(8) == 0) job.devices(1).share(300);
        job.replicas(static_cast<std::int32_t>(random.between(1, 4)));
        if (random.below(4) != 0) job.preemptible();
        if (random.below(5) == 0) job.group("limited");
        job.priority(static_cast<std::int32_t>(random.below(3)));
        const JobId id = cluster.submit(job, static_cast<double>(random.between(1, 900)));
        cluster.ask_allocate(policy, id);
      }
      if (random.below(8) == 0)
        cluster.set_usable(NodeId{static_cast<std::uint32_t>(random.below(4))},
                           random.below(3) != 0);
      cluster.carry_out(cluster.ask_optimize(policy));
      cluster.advance(60);
    }
    EXPECT_EQ(policy.differs(), 0) << "seed " << seed;
    EXPECT_GT(policy.preempted(), 3) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Parameters, TiresiasRule, ::testing::Range(0, 4), [](const auto& param) {
  return std::to_string(param.param);
});

class TiresiasContract : public ::testing::TestWithParam<int> {};

// Queues, promotion and index are saved state: the contract saves and loads half way.
TEST_P(TiresiasContract, IsKeptWithEveryParameter) {
  const std::map<std::string, std::string> parameters[]{
      {{"threshold", "100,1000,10000"}, {"promote_after", "0.5"}},
      {{"threshold", "1000"}, {"services", "60,600,6000,60000"}, {"service_step", "3250"}},
      {{"threshold", "500,5000"}, {"promote_after", "2"}, {"services", "60,600,6000"}}};
  const testing::PolicyMaker make = [&] {
    return testing::policy("tiresias", parameters[GetParam()]);
  };
  for (std::uint64_t seed = 1; seed <= tests::count_of(3, 10); ++seed)
    EXPECT_THAT(testing::broken_promises(make, seed, {.several_roles = false, .quotas = false}),
                ::testing::IsEmpty())
        << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Parameters, TiresiasContract, ::testing::Range(0, 3));

// ---- Queues ----

TEST(Tiresias, RunsWhatFitsByCountQueueByQueue) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto tiresias = testing::policy("tiresias", {{"threshold", "100"}});
  const JobId demoted = cluster.submit(testing::job().replicas(2).preemptible(), 10'000);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(demoted));
  cluster.advance(60);
  const JobId four = cluster.submit(testing::job().replicas(4).preemptible(), 1000);
  const JobId eight = cluster.submit(testing::job().replicas(8).preemptible(), 1000);
  const JobId two = cluster.submit(testing::job().replicas(2).preemptible(), 1000);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(four, two));
  EXPECT_TRUE(runs(cluster, demoted)) << "4 and 2 and 2 devices";
  EXPECT_FALSE(runs(cluster, eight));
}

TEST(Tiresias, DemotesFromQueueToQueue) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto tiresias = testing::policy("tiresias", {{"threshold", "100,200"}});
  const JobId first = cluster.submit(testing::job().preemptible(), 1000);
  testing::started_by_optimize(cluster, *tiresias);
  cluster.advance(150);
  const JobId second = cluster.submit(testing::job().preemptible(), 1000);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(second));
  cluster.advance(150);
  // Both are in the second queue now, the first in front.
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(first));
  cluster.advance(60);
  // 210 s of service: the third queue.
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(second));
}

TEST(Tiresias, PromotesAJobThatHasWaitedLongerThanItRan) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto tiresias = testing::policy("tiresias", {{"threshold", "100"}, {"promote_after", "2"}});
  const JobId old = cluster.submit(testing::job().preemptible(), 1000);
  testing::started_by_optimize(cluster, *tiresias);
  cluster.advance(100);
  const JobId fixed = cluster.submit(testing::job(), 230);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(fixed));
  cluster.advance(199);
  testing::started_by_optimize(cluster, *tiresias);
  const JobId before = cluster.submit(testing::job().preemptible(), 1000);
  cluster.advance(1);
  testing::started_by_optimize(cluster, *tiresias);  // It has waited 200 s, and ran 100 s.
  cluster.advance(1);
  const JobId after = cluster.submit(testing::job().preemptible(), 1000);
  cluster.advance(60);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(before));
  cluster.advance(100);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(old))
      << "at the tail of the first queue, before what came later";
  EXPECT_FALSE(runs(cluster, after));
}

TEST(Tiresias, RunsTheHighestIndexFirst) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  // Most jobs take 1,000 s; who passes that takes 100,000 s.
  const auto tiresias =
      testing::policy("tiresias", {{"services", "1000,1000,1000,100000"}, {"threshold", "90000"}});
  const JobId long_one = cluster.submit(testing::job().preemptible(), 100'000);
  testing::started_by_optimize(cluster, *tiresias);
  cluster.advance(600);
  const JobId fresh = cluster.submit(testing::job().preemptible(), 1000);
  testing::started_by_optimize(cluster, *tiresias);
  EXPECT_TRUE(runs(cluster, long_one)) << "equal indices, so the older one goes on";
  cluster.advance(600);
  EXPECT_THAT(testing::started_by_optimize(cluster, *tiresias), ElementsAre(fresh));
}

TEST(Tiresias, NeedsThresholdsThatRise) {
  const auto made = policies::make_policy("tiresias", {.parameters = {{"threshold", "20,10"}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors().front().text(),
              ::testing::StartsWith("policy.threshold: does not rise"));
}

// ---- The index ----

constexpr std::int64_t device_s = 1'000'000;

double index_of(const GittinsTable& table, std::int64_t service_s) {
  return static_cast<double>(table.index_at(service_s * device_s)) / 1e4;
}

// What the published simulator computes for these samples.
TEST(GittinsTable, IsTheSimulatorsWithItsFixedStep) {
  const GittinsTable table({500, 100, 10000, 1000, 4000}, 3250);
  EXPECT_NEAR(index_of(table, 0), 370.3704, 1e-9);
  EXPECT_NEAR(index_of(table, 99), 370.3704, 1e-9);
  EXPECT_NEAR(index_of(table, 100), 250.0, 1e-9);
  EXPECT_NEAR(index_of(table, 500), 242.4255, 1e-9);
  EXPECT_NEAR(index_of(table, 999), 242.4255, 1e-9);
  EXPECT_NEAR(index_of(table, 1000), 137.931, 1e-9);
  EXPECT_NEAR(index_of(table, 4000), 0.0, 1e-9);
  EXPECT_NEAR(index_of(table, 10'001), 0.0, 1e-9);
}

// By hand: at 0 the best step is 100, 1/5 over 100; at 100 it is 900, 2/4 over (400 + 3 x 900)/4.
TEST(GittinsTable, IsTheBestOverAllStepsOtherwise) {
  const GittinsTable table({100, 500, 1000, 4000, 10000}, 0);
  EXPECT_NEAR(index_of(table, 0), 2000, 1e-9);
  EXPECT_NEAR(index_of(table, 100), 2e6 / 3100, 1e-4);
  EXPECT_NEAR(index_of(table, 500), 1e6 / 1500, 1e-4);
  EXPECT_NEAR(index_of(table, 4000), 1e6 / 6000, 1e-4);
  EXPECT_EQ(table.index_at(10'000 * device_s), 0);
}

TEST(GittinsTable, SaysWhereTheIndexChangesNext) {
  const GittinsTable table({100, 500}, 0);
  EXPECT_EQ(table.next_change(0), 100 * device_s);
  EXPECT_EQ(table.next_change(100 * device_s), 500 * device_s);
  EXPECT_EQ(table.next_change(500 * device_s), INT64_MAX);
  EXPECT_TRUE(GittinsTable().empty());
}

}  // namespace
}  // namespace orrery
