// What is remembered of jobs that ended, by a policy that is asked now and then.
#include "policies/twin/ended_jobs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

/// Plans as fifo does, and looks as `twin` does.
class Looking final : public Policy {
 public:
  std::string_view name() const override { return "looking/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    ended_.pass(view);
    return fifo_->allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    ended_.look(view);
    return fifo_->optimize(view);
  }

  void save(ByteWriter& out) const override { ended_.save(out); }

  void load(ByteReader& in) override { ended_.load(in); }

  const std::vector<EndedJob>& ended() const { return ended_.ended(); }

 private:
  std::unique_ptr<Policy> fifo_ = policy("fifo");
  policies::EndedJobs ended_;
};

TEST(EndedJobs, AreRememberedByHowLongTheyRan) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  Looking looking;
  submit_and_ask(cluster, looking, job().replicas(2).estimate(100), 90);
  submit_and_ask(cluster, looking, job().replicas(1), 40);
  cluster.carry_out(cluster.ask_optimize(looking));
  EXPECT_TRUE(looking.ended().empty());
  cluster.advance(40);
  cluster.carry_out(cluster.ask_optimize(looking));
  cluster.advance(50);
  cluster.carry_out(cluster.ask_optimize(looking));
  const std::vector<EndedJob> expected{{Duration::seconds(40), Duration::zero()},
                                       {Duration::seconds(90), Duration::seconds(100)}};
  EXPECT_EQ(looking.ended(), expected);
}

TEST(EndedJobs, OneWhoseEndIsShownWithASubmissionIsSeenAtTheNextLook) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  Looking looking;
  submit_and_ask(cluster, looking, job().replicas(1), 40);
  cluster.carry_out(cluster.ask_optimize(looking));
  cluster.advance(40);
  submit_and_ask(cluster, looking, job().replicas(1), 1000);
  EXPECT_TRUE(looking.ended().empty());
  cluster.carry_out(cluster.ask_optimize(looking));
  EXPECT_EQ(looking.ended(), (std::vector<EndedJob>{{Duration::seconds(40), Duration::zero()}}));
}

// What is saved is kept while nothing changes: it must be what would be written anew.
TEST(EndedJobs, AreSavedAsOneThatHasJustLoadedThemSavesThem) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    FakeCluster cluster;
    cluster.add_nodes(2, 4);
    Looking looking;
    for (int i = 0; i < 400; ++i) {
      cluster.advance(static_cast<std::int64_t>(random.below(60)));
      if (random.below(2) == 0)
        submit_and_ask(cluster,
                       looking,
                       job().replicas(static_cast<std::int32_t>(random.between(1, 3))),
                       static_cast<double>(random.between(10, 300)));
      else
        cluster.carry_out(cluster.ask_optimize(looking));
      ByteWriter out;
      looking.save(out);
      Looking other;
      ByteReader in(out.bytes());
      other.load(in);
      ASSERT_TRUE(in.finished());
      EXPECT_EQ(other.ended(), looking.ended());
      ByteWriter again;
      other.save(again);
      ASSERT_EQ(again.text(), out.text()) << "step " << i;
    }
    EXPECT_LE(looking.ended().size(), policies::EndedJobs::kKept);
    EXPECT_GT(looking.ended().size(), 50u);
  }
}

// Whoever is asked after `load` finds out from the view alone what was touched before.
TEST(EndedJobs, OneThatWasLoadedGoesOnAsTheOther) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  Looking looking;
  for (int i = 0; i < 30; ++i) {
    submit_and_ask(cluster, looking, job().replicas(1), 30 + 7 * (i % 5));
    cluster.carry_out(cluster.ask_optimize(looking));
    cluster.advance(13);
    ByteWriter out;
    looking.save(out);
    Looking other;
    ByteReader in(out.bytes());
    other.load(in);
    cluster.everything_changed();
    const Plan plan = cluster.ask_optimize(other);
    cluster.everything_changed();
    EXPECT_EQ(cluster.ask_optimize(looking), plan);
    EXPECT_EQ(looking.ended(), other.ended()) << i;
    cluster.carry_out(plan);
  }
  EXPECT_GT(looking.ended().size(), 20u);
}

}  // namespace
}  // namespace orrery::testing
