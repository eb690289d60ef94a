// Optimus decides as its rule, written down without any shortcut.
#include "policies/optimus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/models/speed_estimates.hpp"
#include "policies/gang_trial.hpp"
#include "policies/priority_placement.hpp"
#include "policies/quotas.hpp"
#include "tests/policies/ask.hpp"
#include "tests/policies/contract.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/long_form.hpp"

namespace orrery {
namespace {

using testing::Arrival;
using testing::FakeCluster;
using testing::FakeRun;
using testing::JobBuilder;

/// The rule: all jobs in order, each its minimum while devices are left, then replica after replica
/// to the job that gains most; the sizes that change are placed by ascending size, and where one
/// finds no place, all of them by priority if that is better.
class PlainOptimus {
 public:
  Plan optimize(const ClusterView& view) {
    most_.clear();
    fits_.clear();
    while (true) {
      policies::ClosedNodes closed;
      closed.begin(view);
      std::int64_t left = policies::thousandths_to_share(view, closed);
      std::vector<Sized> jobs = minimums(view, left);
      while (Sized* best = most_gaining(view, jobs, left)) {
        left -= view.row(best->id).demand.thousandths();
        ++best->replicas;
      }
      failed_.clear();
      found_.clear();
      Plan plan = placed(view, jobs);
      const bool is_cut = learns_what_fits(view, jobs, plan);
      if (failed_.empty() && !is_cut)
        return fits_.empty() || brings_something(view, plan) ? plan : Plan{};
      // Of the shape of one that found no place, no more than did.
      for (const auto& shape : failed_)
        most_[shape] = static_cast<int>(std::count(found_.begin(), found_.end(), shape));
    }
  }

 private:
  using Sized = policies::SizedJob;

  static std::int64_t devices_at(const JobRow& row, std::int32_t replicas) {
    return std::int64_t{replicas} * row.demand.devices + row.rest_devices;
  }

  /// Beside what the plan gives the others of its quota beyond what they hold.
  static bool allowed(const ClusterView& view,
                      const std::vector<Sized>& jobs,
                      const JobRow& row,
                      std::int32_t replicas) {
    std::int64_t devices = devices_at(row, replicas);
    for (const Sized& other : jobs) {
      const JobRow& its = view.row(other.id);
      if (other.id == row.id || other.replicas == 0 || !policies::share_quota(its, row)) continue;
      devices += std::max<std::int64_t>(0, devices_at(its, other.replicas) - its.devices_held);
    }
    return view.quota_allows(row.id, static_cast<std::int32_t>(devices));
  }

  std::vector<Sized> minimums(const ClusterView& view, std::int64_t& left) {
    std::vector<JobId> ids(view.holding().begin(), view.holding().end());
    view.waiting().for_each([&](const WaitEntry& entry) { return ids.push_back(entry.job), true; });
    std::sort(ids.begin(), ids.end(), [&](JobId a, JobId b) {
      return std::pair(-view.row(a).priority, a) < std::pair(-view.row(b).priority, b);
    });
    std::vector<Sized> jobs;
    std::map<policies::GangShape, int> chosen;
    for (const JobId id : ids) {
      const JobRow& row = view.row(id);
      if (row.holds && row.is_fixed()) continue;
      const policies::GangShape shape = policies::shape_of(view.job(id));
      const bool has_place = row.holds || !most_.contains(shape) || chosen[shape] < most_[shape];
      const bool fits = row.thousandths_at(row.min_replicas) <= left &&
                        allowed(view, jobs, row, row.min_replicas) && has_place;
      if (fits && !row.holds) ++chosen[shape];
      if (fits) left -= row.thousandths_at(row.min_replicas);
      const std::int32_t least = fits ? row.min_replicas : 0;
      jobs.push_back({id, least, least});
    }
    return jobs;
  }

  Duration gain(const ClusterView& view, const std::vector<Sized>& jobs, const Sized& sized) {
    const JobView job = view.job(sized.id);
    const std::int32_t more = sized.replicas + 1;
    if (sized.replicas == 0 || job.row.is_fixed() || more > job.row.max_replicas ||
        !allowed(view, jobs, job.row, more) || (fits_.contains(sized.id) && more > fits_[sized.id]))
      return Duration::zero();
    const Duration now = *estimates_.iteration_time(job.spec, sized.replicas);
    const Duration then = *estimates_.iteration_time(job.spec, more);
    return Duration::from_seconds((now - then).in_seconds() *
                                  estimates_.iterations_left(job.spec, job.row));
  }

  /// Whether some job gets less than was chosen, and than it was known to.
  bool learns_what_fits(const ClusterView& view, const std::vector<Sized>& jobs, const Plan& plan) {
    const auto before = fits_;
    for (const Sized& s : jobs) {
      std::int32_t gets = view.row(s.id).replicas;
      for (const Grant& grant : plan.grants)
        if (grant.job == s.id) gets = grant.replicas;
      if (gets > 0 && gets < s.replicas)
        fits_[s.id] = fits_.contains(s.id) ? std::min(fits_[s.id], gets) : gets;
    }
    return fits_ != before;
  }

  /// Whether somebody starts or goes, or the others complete earlier in sum.
  bool brings_something(const ClusterView& view, const Plan& plan) {
    double earlier_s = 0;
    for (const Grant& grant : plan.grants) {
      const JobView job = view.job(grant.job);
      const std::int32_t had = job.row.replicas;
      if (!job.row.holds || grant.replicas == 0) return true;
      if (had < job.row.min_replicas || had > job.row.max_replicas) return true;
      if (!view.quota_allows(grant.job, static_cast<std::int32_t>(devices_at(job.row, had))))
        return true;
      earlier_s += (*estimates_.iteration_time(job.spec, had) -
                    *estimates_.iteration_time(job.spec, grant.replicas))
                       .in_seconds() *
                   estimates_.iterations_left(job.spec, job.row);
    }
    return earlier_s > 0;
  }

  Sized* most_gaining(const ClusterView& view, std::vector<Sized>& jobs, std::int64_t left) {
    Sized* best = nullptr;
    Duration most = Duration::zero();
    for (Sized& job : jobs) {
      const Duration worth = gain(view, jobs, job);
      if (worth <= most || view.row(job.id).demand.thousandths() > left) continue;
      most = worth;
      best = &job;
    }
    return left > 0 ? best : nullptr;
  }

  Plan placed(const ClusterView& view, const std::vector<Sized>& jobs) {
    unplaced_.clear();
    Plan plan = placed_beside(view, jobs);
    if (policies::PriorityPlacement::may_help(view, jobs, unplaced_) &&
        by_priority_.place(view, jobs, unplaced_)) {
      plan = by_priority_.plan(view);
      unplaced_.clear();
      for (const auto& job : by_priority_.placed())
        if (job.replicas == 0) unplaced_.insert(job.id);
    }
    for (const Sized& s : jobs)
      if (!view.row(s.id).holds && s.replicas > 0)
        (unplaced_.contains(s.id) ? failed_ : found_).push_back(policies::shape_of(view.job(s.id)));
    return plan;
  }

  Plan placed_beside(const ClusterView& view, std::vector<Sized> jobs) {
    std::stable_sort(jobs.begin(), jobs.end(), [](const Sized& a, const Sized& b) {
      return a.replicas < b.replicas;
    });
    std::erase_if(jobs, [&](const Sized& s) { return view.row(s.id).replicas == s.replicas; });
    placer_.begin(view);
    Plan plan;
    for (const Sized& s : jobs) {
      if (!view.row(s.id).holds) continue;
      if (s.replicas > 0) {
        placer_.give_back_elastic(view, view.job(s.id));
      } else {
        placer_.give_back(view, view.job(s.id));
        plan.preempt(s.id);
      }
    }
    for (const Sized& s : jobs) {
      const JobView job = view.job(s.id);
      const std::int32_t least = job.row.is_fixed() ? s.replicas : job.row.min_replicas;
      std::vector<NodeCount> nodes;
      std::int32_t n = s.replicas;
      while (n >= least && n > 0 && !placer_.place(view, job, n, nodes)) --n;
      if (s.replicas == 0) continue;
      if (n < least) {
        unplaced_.insert(s.id);
        if (!job.row.holds) continue;
        plan.preempt(s.id);
        placer_.give_back_others(view, job);
      } else if (!policies::holds_exactly(job, nodes)) {
        policies::grant_on(s.id, n, nodes, plan);
      }
    }
    return plan;
  }

  LinearEstimates estimates_;
  policies::GangTrial placer_;
  policies::PriorityPlacement by_priority_;
  std::set<JobId> unplaced_;
  std::map<policies::GangShape, int> most_;
  std::map<JobId, std::int32_t> fits_;       // Replicas of jobs that were cut.
  std::vector<policies::GangShape> failed_;  // Of waiting jobs.
  std::vector<policies::GangShape> found_;
};

/// Answers as Optimus, and asks the rule the same.
class Compared : public Policy {
 public:
  Compared() : policy_({}, std::make_unique<LinearEstimates>()) {}

  std::string_view name() const override { return policy_.name(); }

  Triggers triggers() const override { return policy_.triggers(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    return policy_.allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    Plan plan = policy_.optimize(view);
    differs_ += plan == plain_.optimize(view) ? 0 : 1;
    asked_ += 1;
    grants_ += plan.grants.size();
    return plan;
  }

  void save(ByteWriter& out) const override { policy_.save(out); }

  void load(ByteReader& in) override { policy_.load(in); }

  int asked() const { return asked_; }

  int differs() const { return differs_; }

  std::size_t grants() const { return grants_; }

 private:
  policies::Optimus policy_;
  PlainOptimus plain_;
  int asked_ = 0;
  int differs_ = 0;
  std::size_t grants_ = 0;
};

TEST(OptimusRule, IsKeptOnRandomHistories) {
  std::size_t grants = 0;
  const std::uint64_t seeds = tests::count_of(15, 60);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Compared policy;
    FakeRun run = testing::random_run(seed, {.several_roles = seed % 3 == 0, .quotas = true});
    run.run(policy, 3000);
    EXPECT_EQ(policy.differs(), 0) << "seed " << seed << ", of " << policy.asked() << " cycles";
    grants += policy.grants();
  }
  EXPECT_GT(grants, seeds * 80);
}

// Two take the quota one after the other, and the elastic one has what is left of it.
TEST(Optimus, SharesAQuotaOutAmongTheJobsOfOnePlan) {
  FakeCluster cluster;
  cluster.add_nodes(1, 12);
  cluster.set_quota("limited", 6);
  const auto policy = testing::policy("optimus");
  const JobId fixed = cluster.submit(JobBuilder().replicas(2).preemptible().group("limited"), 1e5);
  const JobId elastic = cluster.submit(
      JobBuilder().replicas(1, 9).preemptible().group("limited").estimate(1000), 1e5);
  cluster.carry_out(cluster.ask_optimize(*policy));
  EXPECT_EQ(cluster.replicas(fixed), 2);
  EXPECT_EQ(cluster.replicas(elastic), 4);
}

// Far more jobs than can run, nodes that go and come back, priorities that come late.
TEST(OptimusRule, IsKeptWithALongQueue) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random = Random::stream(seed, "optimus");
    FakeCluster cluster;
    cluster.add_nodes(4, 8);
    cluster.set_quota("limited", 6);
    Compared policy;
    for (int cycle = 0; cycle < 60; ++cycle) {
      for (std::uint64_t more = random.below(12); more > 0; --more) {
        JobBuilder job;
        const auto least = static_cast<std::int32_t>(random.between(1, 4));
        job.devices(static_cast<std::int32_t>(random.between(0, 8)));
        job.replicas(least, least + static_cast<std::int32_t>(random.below(5)));
        if (random.below(4) != 0) job.preemptible();
        if (random.below(5) == 0) job.group("limited");
        job.priority(static_cast<std::int32_t>(random.below(3)));
        cluster.submit(job, static_cast<double>(random.between(1, 900)));
      }
      if (random.below(8) == 0)
        cluster.set_usable(NodeId{static_cast<std::uint32_t>(random.below(4))},
                           random.below(3) != 0);
      cluster.carry_out(cluster.ask_optimize(policy));
      cluster.advance(60);
    }
    EXPECT_EQ(policy.differs(), 0) << "seed " << seed;
    EXPECT_GT(policy.grants(), 20u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery
