// The contract of policies with queues in front of each, and what the queues promise beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/queues/queue_loads.hpp"
#include "core/queues/queue_text.hpp"
#include "core/queues/vain_wants.hpp"
#include "policies/registry.hpp"
#include "tests/policies/contract.hpp"
#include "tests/policies/contract_scope.hpp"
#include "tests/support/fake_rehearsal.hpp"
#include "tests/support/long_form.hpp"

namespace orrery {
namespace {

using testing::broken_promises;
using ::testing::IsEmpty;
using testing::PolicyMaker;

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const policies::PolicyRow& row : policies::rows())
    if (policies::is_available(row)) out.push_back(row.name);
  return out;
}

class QueuesContract : public ::testing::TestWithParam<std::string_view> {};

std::map<std::string, std::string> parameters_of(std::string_view name) {
  std::map<std::string, std::string> out;
  if (name == "pollux") out = {{"population", "12"}, {"generations", "8"}};
  if (name == "gavel_packing" || name == "gandiva") out = {{"beside", "0.7"}};
  return out;
}

// Jobs of the histories are of group "limited", or of none.
constexpr const char* kTrees[]{
    "limited weight=2; default weight=1",
    "half_life=600s patience=300s; top; limited parent=top guarantee=25%; other parent=top; "
    "default borrow=90% guarantee=10%",
    "period=120s patience=120s; limited limit=16 reclaim=false; default priority=1",
};

// Each policy with all trees in the long form, with the next one in its turn otherwise: 22 policies
// are many.
std::vector<std::size_t> trees_of(std::string_view name) {
  const std::vector<std::string_view> all = names();
  const auto first = static_cast<std::size_t>(std::ranges::find(all, name) - all.begin());
  std::vector<std::size_t> trees;
  for (std::size_t i = 0; i < tests::count_of(1, kFewHistories ? 2 : std::size(kTrees)); ++i)
    trees.push_back((first + i) % std::size(kTrees));
  return trees;
}

TEST_P(QueuesContract, IsKeptOnRandomHistories) {
  for (const std::size_t which : trees_of(GetParam())) {
    const char* const tree = kTrees[which];
    const std::uint64_t seed = which + 1;  // Another history for each tree.
    const PolicyMaker make = [tree] {
      auto parameters = parameters_of(GetParam());
      parameters["queues"] = tree;
      return policies::make_policy(GetParam(),
                                   {.parameters = parameters,
                                    .rehearsal = std::make_shared<testing::FakeRehearsal>()})
          .value();
    };
    // A fixed job as large as the cluster never borrows what others are guaranteed.
    testing::ContractScope scope = scope_of(GetParam());
    scope.fixed = std::string_view(tree).find("guarantee") == std::string_view::npos;
    EXPECT_THAT(broken_promises(make, seed, scope), IsEmpty())
        << "seed " << seed << " with " << tree;
  }
}

// ---- Promises of the queues themselves ----

/// What queues hold in the view, and who is denied what is guaranteed to it.
class QueueJudge {
 public:
  explicit QueueJudge(const char* tree)
      : tree_(parsed_queues(tree).value()), denied_(tree_.size(), Instant::never()) {}

  void look(const testing::FakeCluster& view) {
    QueueLoads loads(tree_);
    std::vector<JobId> waiting;
    for (const JobId id : view.holding()) loads.add(known(view, id));
    view.waiting().for_each([&](const WaitEntry& entry) {
      loads.add(known(view, entry.job));
      waiting.push_back(entry.job);
      return true;
    });
    QueueScale scale;
    scale.capacity.devices = view.devices_usable() * 1000;
    VainWants vain(loads, scale);
    const auto allowed = [&](JobId id) {
      const JobView it = view.job(id);
      return within_quotas(
          known(view, id), it.row, it.spec, tree_.spec().sizes_jobs, [&](std::int32_t devices) {
            return view.quota_allows(id, devices);
          });
    };
    for (const JobId id : view.holding()) vain.look_holding(known(view, id), allowed(id));
    for (const JobId id : waiting) {
      const JobView it = view.job(id);
      vain.look_waiting(known(view, id), use_at(it.row, it.spec, it.row.min_replicas), allowed(id));
    }
    const std::vector<std::int64_t> shares =
        queue_shares(tree_, scale, loads.wants(scale, vain.found()));
    const std::vector<std::int64_t> guarantees = tree_.guarantees(scale.total());
    std::vector<bool> denied(tree_.size(), false);
    for (std::uint32_t queue = 1; queue < tree_.size(); ++queue)
      if (scale.dominant(loads.use(queue)) > tree_.most(queue, scale.total()))
        wrong_.push_back("queue " + tree_.name(queue) + " holds more than its limit");
    for (const JobId id : waiting) {
      const QueueJob job = known(view, id);
      const JobView it = view.job(id);
      const QueueUse gang = use_at(it.row, it.spec, it.row.min_replicas);
      QueueUse then = loads.use(job.queue);
      then += gang;
      if (scale.dominant(then) > guarantees[job.queue] || loads.block(scale, job, gang) ||
          !view.quota_allows(id, it.row.gang_devices()))
        continue;
      if (would_fit(view, loads, scale, shares, id)) denied[job.queue] = true;
    }
    for (std::uint32_t queue = 1; queue < tree_.size(); ++queue) {
      if (!denied[queue]) denied_[queue] = Instant::never();
      if (denied[queue] && denied_[queue].is_never()) denied_[queue] = view.now();
      if (denied[queue] && view.now() - denied_[queue] > tree_.spec().period)
        wrong_.push_back("queue " + tree_.name(queue) + " is denied its guarantee since " +
                         std::to_string(denied_[queue].ns / 1'000'000'000) + " s");
    }
  }

  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  QueueJob known(const testing::FakeCluster& view, JobId id) const {
    const JobView job = view.job(id);
    return queue_job(tree_, job.row, job.spec, tree_.spec().sizes_jobs);
  }

  // Beside all that is held but one job of a queue beyond its share.
  bool would_fit(const testing::FakeCluster& view,
                 const QueueLoads& loads,
                 const QueueScale& scale,
                 const std::vector<std::int64_t>& shares,
                 JobId id) const {
    CapacityTrial trial;
    trial.sync(view.capacity());
    // Where there is room already, it is for the policy to start it.
    if (try_start(view, view.job(id), view.row(id).min_replicas, trial)) return false;
    for (const JobId other : view.holding()) {
      const QueueJob victim = known(view, other);
      if (victim.fixed || scale.dominant(loads.use(victim.queue)) <= shares[victim.queue]) continue;
      const std::size_t mark = trial.mark();
      give_back(view, view.job(other), trial);
      const bool fits = try_start(view, view.job(id), view.row(id).min_replicas, trial);
      trial.undo(mark);
      if (fits) return true;
    }
    return false;
  }

  QueueTree tree_;
  std::vector<Instant> denied_;
  std::vector<std::string> wrong_;
};

// Of policies that sort, preempt, plan ahead and size jobs.
TEST(QueuesPromise, LimitsAlwaysAndGuaranteesWithinOnePeriod) {
  constexpr const char* kTree =
      "period=60s patience=10000000s; limited guarantee=40% limit=60%; default limit=90%";
  for (const char* name : {"fifo", "easy", "las", "srtf", "fit", "tiresias"})
    for (std::uint64_t seed = 1; seed <= tests::count_of(4, 10); ++seed) {
      const std::unique_ptr<Policy> policy =
          policies::make_policy(name, {.parameters = {{"queues", kTree}}}).value();
      testing::FakeRun run = testing::random_run(
          seed, {.several_roles = false, .quotas = true, .fixed = seed % 2 == 0});
      // Half of the jobs would make a small group wait for its quota.
      run.cluster().set_quota("limited", 1000);
      QueueJudge judge(kTree);
      for (int i = 0; i < 600 && run.step(*policy); ++i) judge.look(run.cluster());
      EXPECT_THAT(judge.wrong(), IsEmpty()) << name << ", seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Registry,
                         QueuesContract,
                         ::testing::ValuesIn(names()),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace orrery
