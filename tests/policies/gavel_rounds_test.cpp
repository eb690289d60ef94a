// A FIFO round looks at few jobs and decides as one of them all: between two computations of shares
// at those with a share, otherwise at those that have changed, unless quotas limit some.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/random.hpp"
#include "core/plan/forwarded_view.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::testing {
namespace {

const std::uint64_t kRoundsSeeds = tests::count_of(1000, 4000);
constexpr int kRoundsSteps = 160;

/// As the core's views: neither a node nor a quota that changes makes `touched` incomplete.
class ToldView : public ForwardedView {
 public:
  ToldView(const ClusterView& whole, bool complete) : ForwardedView(whole), complete_(complete) {}

  bool touched_complete() const override { return complete_; }

 private:
  bool complete_;
};

std::unique_ptr<Policy> rounds_of_fifo() {
  return policy("gavel_fifo", {{"round", "60s"}, {"reset", "300s"}});
}

/// Two alike, of which one looks at all jobs in every round.
class BothRounds : public Policy {
 public:
  std::string_view name() const override { return few_->name(); }

  Triggers triggers() const override { return few_->triggers(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    (void)all_->allocate(job, ToldView(view, false));
    return few_->allocate(job, ToldView(view, complete()));
  }

  Plan optimize(const ClusterView& view) override {
    const Plan wanted = all_->optimize(ToldView(view, false));
    Plan plan = few_->optimize(ToldView(view, complete()));
    EXPECT_EQ(plan, wanted) << "at " << view.now().in_seconds() << " s";
    return plan;
  }

  void save(ByteWriter& out) const override { few_->save(out); }

  void load(ByteReader& in) override {
    few_ = rounds_of_fifo();
    few_->load(in);
    is_new_ = true;
  }

 private:
  bool complete() { return !std::exchange(is_new_, false); }

  std::unique_ptr<Policy> few_ = rounds_of_fifo();
  std::unique_ptr<Policy> all_ = rounds_of_fifo();
  bool is_new_ = true;
};

/// A small cluster of two models on which now this, now that happens.
class RoundsHistory {
 public:
  explicit RoundsHistory(std::uint64_t seed) : random_(Random::stream(seed, "gavel rounds")) {
    for (const std::int64_t cores : {16, 16, 2}) cluster_.add_nodes(1, 2, cores, "a");
    for (const std::int64_t cores : {16, 16, 2}) cluster_.add_nodes(1, 2, cores, "b");
    cluster_.add_nodes(1, 0, 4);
    cluster_.set_quota("limited", 3);
    limited_among_ = seed % 2 == 0 ? 3 : 60;
  }

  /// Busy times and quiet ones, in which shares stay as they are, follow each other.
  void step() {
    const bool is_quiet = ++steps_ / 40 % 2 == 1;
    switch (is_quiet && random_.below(8) > 0 ? 15 : random_.below(15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit();
      case 4:
        return end_one();
      case 5:
        return cancel_one();
      case 6:
        cluster_.set_usable(any_node(), false);
        return cluster_.set_usable(any_node(), true);
      case 7:
        return cluster_.set_quota("limited", static_cast<std::int32_t>(random_.between(0, 6)));
      case 8:
        return reload();
      case 9:
        return resize_one();
      default:
        cluster_.advance(random_.between(1, 90));
        const Plan plan = cluster_.ask_optimize(policy_);
        if (random_.below(5) > 0) cluster_.carry_out(plan);  // Else it is lost.
    }
  }

 private:
  NodeId any_node() { return NodeId{static_cast<std::uint32_t>(random_.below(7))}; }

  void submit() {
    JobBuilder one = job();
    one.devices(static_cast<std::int32_t>(std::min<std::uint64_t>(random_.below(8), 1)))
        .cpu(random_.between(1, 9));
    if (random_.below(2) == 0) one.replicas(static_cast<std::int32_t>(random_.between(2, 5)));
    if (random_.below(3) == 0) one.priority(1);
    if (random_.below(2) > 0) one.preemptible();
    if (random_.below(limited_among_) == 0) one.group("limited");
    if (random_.below(6) == 0) one.model(random_.below(2) == 0 ? "a" : "b");
    last_ = cluster_.submit(one, static_cast<double>(random_.between(10, 2000)));
    if (random_.below(4) > 0) cluster_.carry_out(cluster_.ask_allocate(policy_, last_));
  }

  void end_one() {
    if (cluster_.holding().empty()) return;
    cluster_.end_now(cluster_.holding()[random_.below(cluster_.holding().size())]);
  }

  /// Of the youngest, who may have come since shares were computed.
  void cancel_one() {
    if (!last_.is_none()) cluster_.cancel(one_of_the_youngest());
  }

  void resize_one() {
    if (last_.is_none()) return;
    cluster_.resize(one_of_the_youngest(), static_cast<std::int32_t>(random_.between(1, 5)));
  }

  JobId one_of_the_youngest() {
    const auto back = static_cast<std::uint32_t>(random_.below(6));
    return JobId{last_.value - std::min(back, last_.value)};
  }

  void reload() {
    if (random_.below(3) > 0) return;
    ByteWriter out;
    policy_.save(out);
    ByteReader in(out.bytes());
    policy_.load(in);
  }

  Random random_;
  JobId last_;  ///< That was submitted.
  int steps_ = 0;
  std::uint64_t limited_among_;  ///< One of so many jobs is limited by a quota.
  FakeCluster cluster_;
  BothRounds policy_;
};

TEST(GavelRounds, OfJobsWithSharesDecideAsThoseOfAllJobs) {
  for (std::uint64_t seed = 1; seed <= kRoundsSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RoundsHistory history(seed);
    for (int i = 0; i < kRoundsSteps && !::testing::Test::HasFailure(); ++i) history.step();
  }
}

TEST(GavelRounds, AJobThatMayRunNowIsLookedAtAgain) {
  for (const char* const name : {"gavel_fifo", "gavel_las", "gavel_sum", "gavel_makespan"}) {
    SCOPED_TRACE(name);
    auto made = policies::make_policy(name, {.parameters = {{"round", "60s"}, {"reset", "120s"}}});
    if (!made) continue;  // Its solver is not there.
    const std::unique_ptr<Policy> rounds = std::move(made).value();
    FakeCluster cluster;
    cluster.add_nodes(1, 8, 100);
    for (const char* const group : {"small", "grows"}) cluster.set_quota(group, 1);
    const JobId large = cluster.submit(job().replicas(2).group("small"), 5000);
    const JobId admitted = cluster.submit(job().replicas(2).group("grows"), 5000);
    const auto rounds_go_by = [&](int count) {
      for (int round = 0; round < count; ++round) {
        cluster.advance(60);
        cluster.carry_out(cluster.ask_optimize(*rounds));
      }
    };
    rounds_go_by(5);
    EXPECT_FALSE(runs(cluster, large));
    EXPECT_FALSE(runs(cluster, admitted));
    cluster.resize(large, 1);
    rounds_go_by(3);
    EXPECT_TRUE(runs(cluster, large));
    EXPECT_FALSE(runs(cluster, admitted));
    cluster.set_quota("grows", 2);
    rounds_go_by(3);
    EXPECT_TRUE(runs(cluster, admitted));
  }
}

TEST(GavelRounds, LookAtAllJobsWhereAsManyDevicesAreOnOtherNodes) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2, 16, "a");
  cluster.add_nodes(1, 2, 2, "a");
  for (const char* const model : {"b", "c", "d"}) cluster.add_nodes(1, 1, 16, model);
  cluster.set_usable(NodeId{1}, false);
  BothRounds policy;
  cluster.submit(job().cpu(1).model("d").preemptible(), 5000);
  const JobId first = cluster.submit(job().replicas(2).cpu(1).model("a").preemptible(), 5000);
  const JobId wide = cluster.submit(job().replicas(2).cpu(8), 5000);
  for (int round = 0; round < 2; ++round) {
    cluster.advance(60);
    cluster.carry_out(cluster.ask_optimize(policy));
  }
  EXPECT_TRUE(runs(cluster, first));
  EXPECT_FALSE(runs(cluster, wide)) << "it waits for its turn on the other's devices";
  cluster.set_usable(NodeId{0}, false);
  cluster.set_usable(NodeId{1}, true);
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(policy));
  EXPECT_TRUE(runs(cluster, first));
  EXPECT_TRUE(runs(cluster, wide)) << "no model holds it any more: it starts across two";
}

}  // namespace
}  // namespace orrery::testing
