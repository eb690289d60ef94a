// The contract over every row of the registry, and over policies planted to break it.
#include "tests/policies/contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "policies/registry.hpp"
#include "tests/policies/contract_scope.hpp"
#include "tests/support/fake_rehearsal.hpp"
#include "tests/support/long_form.hpp"

namespace orrery {
namespace {

using testing::broken_promises;
using ::testing::Contains;
using ::testing::IsEmpty;
using testing::PolicyMaker;
using ::testing::StartsWith;

class Contract : public ::testing::TestWithParam<std::string_view> {};

// Gavel's packing, Gandiva: no pair is known by measurement. Pollux: a search of thousands of
// allocations for each plan promises the same as one of hundreds. Gavel's max-min: water filling
// begins with the program that it solves without.
std::map<std::string, std::string> parameters_of(std::string_view name) {
  if (name == "pollux") return {{"population", "12"}, {"generations", "8"}};
  if (name == "gavel_packing" || name == "gandiva") return {{"beside", "0.7"}};
  if (name == "gavel_las") return {{"water_filling", "true"}};
  // Another candidate every other minute, as a rehearsal that tells nonsense brings about.
  if (name == "twin")
    return {{"period", "60s"}, {"candidates", "easy; srtf; las quantum=5min; fit"}};
  return {};
}

// These solve many programs at a question, or breed many allocations.
std::uint64_t histories_of(std::string_view name) {
  if (name == "pollux" || name == "shockwave") return tests::count_of(2, 100);
  if (name == "themis" || name == "gavel_makespan") return tests::count_of(2, 50);
  return tests::count_of(3, 200);
}

TEST_P(Contract, IsKeptOnRandomHistories) {
  const PolicyMaker make = [] {
    return policies::make_policy(GetParam(),
                                 {.parameters = parameters_of(GetParam()),
                                  .rehearsal = std::make_shared<testing::FakeRehearsal>()})
        .value();
  };
  const std::uint64_t histories = kFewHistories ? 2 : histories_of(GetParam());
  for (std::uint64_t seed = 1; seed <= histories; ++seed)
    EXPECT_THAT(broken_promises(make, seed, scope_of(GetParam())), IsEmpty()) << "seed " << seed;
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const policies::PolicyRow& row : policies::rows())
    if (policies::is_available(row)) out.push_back(row.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registry, Contract, ::testing::ValuesIn(names()), [](const auto& row) {
  return std::string(row.param);
});

TEST_P(Contract, PartsOfDevicesAreAddedUp) {
  const std::unique_ptr<Policy> policy =
      policies::make_policy(GetParam(), {.rehearsal = std::make_shared<testing::FakeRehearsal>()})
          .value();
  testing::FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto start = [&](const testing::JobBuilder& job) {
    const JobId id = cluster.submit(job);
    cluster.carry_out(cluster.ask_allocate(*policy, id));
    cluster.advance(3600);  // The longest of all periods.
    cluster.carry_out(cluster.ask_optimize(*policy));
    return cluster.replicas(id);
  };
  const auto part = [](std::int32_t thousandths) { return testing::job().share(thousandths); };
  EXPECT_EQ(start(part(600).estimate(100'000)), 1);
  EXPECT_EQ(start(part(600).estimate(100'000)), 1) << "on the other device";
  EXPECT_EQ(start(part(400).replicas(2).estimate(100'000)), 2) << "beside one each";
  EXPECT_EQ(start(part(100).estimate(100'000)), 0) << "nothing is left";
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(ContractOfEasy, IsKeptWithReservedNodes) {
  const PolicyMaker make = [] {
    return policies::make_policy("easy", {.parameters = {{"reserve_nodes", "true"}}}).value();
  };
  for (std::uint64_t seed = 1; seed <= tests::count_of(6, 25); ++seed)
    EXPECT_THAT(broken_promises(make, seed, {}), IsEmpty()) << "seed " << seed;
}

TEST(ContractOfRounds, IsKeptWhereTheirJobsAreChosenAhead) {
  for (const std::string name :
       {"gavel_isolated", "gavel_packing", "gandiva", "allox", "shockwave"}) {
    const PolicyMaker make = [&] {
      std::map<std::string, std::string> parameters{{"round", "120s"}, {"choose_ahead", "60s"}};
      if (name == "gavel_packing" || name == "gandiva") parameters["beside"] = "0.7";
      return policies::make_policy(name, {.parameters = parameters}).value();
    };
    if (!policies::is_available(*policies::find_row(name))) continue;
    for (std::uint64_t seed = 1; seed <= tests::count_of(1, 3); ++seed)
      EXPECT_THAT(broken_promises(make, seed, scope_of(name)), IsEmpty())
          << name << ", seed " << seed;
  }
}

// ---- Planted offenders: fifo with one fault each ----

class Planted : public Policy {
 public:
  Planted() : fifo_(policies::make_policy("fifo").value()) {}

  std::string_view name() const override { return "planted/1"; }

  Triggers triggers() const override { return fifo_->triggers(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    Plan plan = fifo_->allocate(job, view);
    spoil(plan, view);
    return plan;
  }

  Plan optimize(const ClusterView& view) override {
    Plan plan = fifo_->optimize(view);
    spoil(plan, view);
    return plan;
  }

  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 protected:
  virtual void spoil(Plan& plan, const ClusterView& view) = 0;

 private:
  std::unique_ptr<Policy> fifo_;
};

class OneTooMany : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    for (Grant& grant : plan.grants)
      if (grant.replicas > 0) grant.replicas = view.row(grant.job).max_replicas + 1;
  }
};

class CountsNothing : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    plan = {};
    view.waiting().for_each([&](const WaitEntry& entry) {
      if (view.quota_allows(entry.job, view.row(entry.job).gang_devices()))
        plan.grant(entry.job, view.row(entry.job).min_replicas);
      return true;
    });
  }
};

class TakesFromFixed : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    for (const JobId id : view.holding())
      if (view.row(id).is_fixed() && ++asked_ % 20 == 0) plan.preempt(id);
  }

  int asked_ = 0;
};

class IgnoresQuotas : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    view.waiting().for_each([&](const WaitEntry& entry) {
      if (!view.quota_allows(entry.job, view.row(entry.job).gang_devices()))
        plan.grant(entry.job, view.row(entry.job).min_replicas);
      return true;
    });
  }
};

int instances = 0;

class DependsOnAGlobal : public Planted {
  void spoil(Plan& plan, const ClusterView&) override {
    if (odd_ && ++asked_ <= 30) plan = {};
  }

  bool odd_ = ++instances % 2 == 1;
  int asked_ = 0;
};

class ForgetsOnLoad : public Planted {
  void spoil(Plan& plan, const ClusterView&) override {
    // Silent for its first asks, which a loaded one goes through again.
    if (++asked_ <= 30) plan = {};
  }

  int asked_ = 0;
};

class NeverStartsBigJobs : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    std::erase_if(plan.grants,
                  [&](const Grant& grant) { return view.row(grant.job).gang_devices() >= 8; });
  }
};

class SwapsForEver : public Planted {
  void spoil(Plan& plan, const ClusterView& view) override {
    for (const JobId id : view.holding())
      if (plan.empty() && !view.row(id).is_fixed()) plan.preempt(id);
  }
};

/// What the offender breaks, up to the first history in which it breaks `promise`.
template <class Offender>
std::vector<std::string> broken_until(const std::string& promise) {
  std::vector<std::string> all;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (std::string& broken : broken_promises([] { return std::make_unique<Offender>(); }, seed))
      all.push_back(std::move(broken));
    if (std::ranges::any_of(all, [&](const auto& each) { return each.starts_with(promise); }))
      break;
  }
  return all;
}

template <class Offender>
void expect_found(const std::string& promise) {
  EXPECT_THAT(broken_until<Offender>(promise), Contains(StartsWith(promise)));
}

TEST(ContractOnOffenders, FindsGrantsOutOfBounds) { expect_found<OneTooMany>("bounds"); }

TEST(ContractOnOffenders, FindsGrantsBeyondCapacity) { expect_found<CountsNothing>("capacity"); }

TEST(ContractOnOffenders, FindsFixedJobsThatAreMoved) { expect_found<TakesFromFixed>("fixed"); }

TEST(ContractOnOffenders, FindsGrantsOverQuota) { expect_found<IgnoresQuotas>("quota"); }

TEST(ContractOnOffenders, FindsHiddenInputs) { expect_found<DependsOnAGlobal>("determinism"); }

TEST(ContractOnOffenders, FindsStateThatIsNotSaved) {
  expect_found<ForgetsOnLoad>("save and load");
}

TEST(ContractOnOffenders, FindsStarvation) { expect_found<NeverStartsBigJobs>("starvation"); }

TEST(ContractOnOffenders, FindsRestlessness) { expect_found<SwapsForEver>("stability"); }

}  // namespace
}  // namespace orrery
