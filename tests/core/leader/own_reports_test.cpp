// Whatever is said of a worker is taken from its own node alone: one row for each kind of word.
#include "core/leader/own_reports.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/coverage_mark.hpp"
#include "tests/core/leader/streams_in_test.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

/// Something that an agent can say about another node's worker.
struct Word {
  std::string name;
  /// Says it as `node`, of worker 1 of the job, which runs on node 1.
  std::function<void(Leader&, NodeId node, const JobState&, Instant now)> say;
};

WorkersChanged report_of(const JobState& job, WorkerFact fact, std::int32_t exit_code) {
  const Worker& worker = job.workers[1];
  return {
      job.row.id, worker.born, worker.incarnation, fact, worker.birth_rank, 1, exit_code, {}, {}};
}

Word report(std::string name, WorkerFact fact, std::int32_t exit_code = 0) {
  return {std::move(name), [=](Leader& leader, NodeId node, const JobState& job, Instant now) {
            leader.reported(node, {report_of(job, fact, exit_code)}, now, now);
          }};
}

Word said(std::string name, std::function<EventBody(const JobState&)> make) {
  return {std::move(name), [=](Leader& leader, NodeId node, const JobState& job, Instant now) {
            const bool counts = leader.said(node, make(job), now, now);
            EXPECT_EQ(counts, leader.has_news());
          }};
}

std::vector<Word> words() {
  return {
      report("ready", WorkerFact::Ready),
      report("running", WorkerFact::Running),
      report("exited", WorkerFact::Exited),
      report("failed", WorkerFact::Exited, 1),
      report("launch failed", WorkerFact::LaunchFailed, 127),
      report("lost", WorkerFact::Lost),
      {"named by its present rank",
       [](Leader& leader, NodeId node, const JobState& job, Instant now) {
         leader.reported(node,
                         {{job.row.id,
                           job.row.generation,
                           job.workers[1].incarnation,
                           WorkerFact::Exited,
                           Rank{1}}},
                         now,
                         now);
       }},
      said("progress",
           [](const JobState& job) {
             return ProgressReported{job.row.id, job.row.generation, 5, 1};
           }),
      said("the end explained",
           [](const JobState& job) {
             const Worker& worker = job.workers[1];
             return FailureExplained{
                 job.row.id, worker.incarnation, worker.birth_rank, "it did", "so"};
           }),
      said("a sub-master's word",
           [](const JobState& job) {
             SubMasterSaid word;
             word.job = job.row.id;
             word.role = RoleIndex{2};
             word.incarnation = job.workers[1].incarnation;
             return word;
           }),
      {"a measurement",
       [](Leader& leader, NodeId node, const JobState& job, Instant now) {
         leader.profiled(node, {job.row.id, job.row.generation, Rank{1}, {{"x", 1}}}, now);
       }},
  };
}

// Each is counted, so that a storm can say how often a node spoke of what is not its own.
std::uint64_t refusals() {
  return mark_counts[static_cast<std::size_t>(Mark::LeaderRejectedReport)];
}

/// What `judge` says, which is counted where it is no.
template <class Judge>
bool judged(const Judge& judge) {
  const std::uint64_t before = refusals();
  const bool own = judge();
  EXPECT_EQ(refusals() - before, own ? 0u : 1u);
  return own;
}

TEST(OwnReports, OfAWorkerIsTakenFromItsOwnNodeAlone) {
  for (const Word& word : words()) {
    SCOPED_TRACE(word.name);
    ControllerHarness h({nodes_of(3, 1)});
    JobBuilder builder("led");
    builder.replicas(1).follower("master", 1).role("rest", 1);
    builder.raw().roles[1].master_of = RoleIndex{2};
    const JobId id = h.submit(builder);
    h.plan(grant(id, 1));
    ASSERT_EQ(h.job(id).workers.size(), 3u);
    const NodeId home = h.job(id).workers[1].node;
    StreamsInTest streams;
    Leader leader(Epoch{1}, h.controller.state(), Settings{}, 3, h.now, Duration::zero(), streams);
    leader.establish(h.now);
    for (std::uint32_t n = 0; n < 3; ++n) {
      const NodeId node{n};
      const std::uint64_t before = refusals();
      word.say(leader, node, h.job(id), h.now);
      // All nodes have workers of the job: progress of the whole may be reported by each of them.
      const bool counts = node == home || word.name == "progress";
      EXPECT_EQ(leader.has_news(), counts) << "node " << n;
      EXPECT_EQ(refusals() - before, counts ? 0u : 1u) << "node " << n;
      leader.drop_news();
    }
  }
}

TEST(OwnReports, OfAJobIsTakenFromNodesThatHaveSomeOfIt) {
  ControllerHarness h({nodes_of(2, 1)});
  const JobId id = h.running(JobBuilder("one"), 1);
  const NodeId home = h.job(id).workers[0].node;
  StreamsInTest streams;
  Leader leader(Epoch{1}, h.controller.state(), Settings{}, 2, h.now, Duration::zero(), streams);
  const ProgressReported progress{id, h.row(id).generation, 5, 1};
  EXPECT_FALSE(leader.said(NodeId{1 - home.value}, progress, h.now, h.now));
  EXPECT_TRUE(leader.said(home, progress, h.now, h.now));
}

TEST(OwnReports, OfARunOfRanksCountsThePartThatIsOwn) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(JobBuilder("two").replicas(4), 4, {on(0, 2), on(1, 2)});
  const JobState& job = h.job(id);
  std::vector<WorkersChanged> own;
  WorkersChanged all{
      id, job.workers[0].born, job.workers[0].incarnation, WorkerFact::Exited, Rank{0}, 4, 1};
  all.diagnosis = Diagnosis{Blame::Node, {}, 0, "no link"};
  EXPECT_FALSE(take_own(h.controller.state(), NodeId{1}, all, own));
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].first, Rank{2});
  EXPECT_EQ(own[0].count, 2u);
  EXPECT_EQ(*own[0].diagnosis, *all.diagnosis);
}

TEST(OwnReports, OfARunOfRanksAsManyCountAsAJobCanHave) {
  ControllerHarness h({nodes_of(2, 1)});
  const JobId id = h.running(JobBuilder("one"), 1);
  WorkersChanged late{id, Generation{0}, Incarnation{0}, WorkerFact::Exited, Rank{0}, kReplicasMax};
  std::vector<WorkersChanged> own;
  EXPECT_TRUE(take_own(h.controller.state(), NodeId{0}, late, own));
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].count, std::uint32_t{kReplicasMax});
  late.count = UINT32_MAX;
  own.clear();
  EXPECT_FALSE(judged([&] { return take_own(h.controller.state(), NodeId{0}, late, own); }));
  EXPECT_EQ(own[0].count, 1u << 20) << "no more are looked at";
  const Worker& worker = h.job(id).workers[0];
  const WorkersChanged more{id, worker.born, worker.incarnation, WorkerFact::Exited, Rank{1}, 1};
  EXPECT_TRUE(take_own(h.controller.state(), NodeId{0}, more, own)) << "fewer than there were";
}

TEST(OwnReports, ADeviceIsLostByTheWordOfItsOwnNodeAlone) {
  ControllerHarness h({nodes_of(2, 1)});
  StreamsInTest streams;
  Leader leader(Epoch{1}, h.controller.state(), Settings{}, 2, h.now, Duration::zero(), streams);
  const DevicesLost lost{NodeId{1}, 1};
  EXPECT_FALSE(judged([&] { return leader.said(NodeId{0}, lost, h.now, h.now); }));
  EXPECT_FALSE(leader.has_news());
  EXPECT_TRUE(leader.said(NodeId{1}, lost, h.now, h.now));
  EXPECT_TRUE(leader.has_news());
}

TEST(OwnReports, WhatDoesNotExistYetIsMadeUpAndWhatIsOverIsLate) {
  ControllerHarness h({nodes_of(2, 1)});
  const JobId id = h.running(JobBuilder("one"), 1);
  const State& state = h.controller.state();
  const Worker& worker = h.job(id).workers[0];
  const auto counts = [&](JobId job, std::uint32_t generation, std::uint32_t incarnation) {
    std::vector<WorkersChanged> own;
    return take_own(state,
                    NodeId{1 - worker.node.value},
                    {job,
                     Generation{generation},
                     Incarnation{incarnation},
                     WorkerFact::Exited,
                     worker.birth_rank},
                    own);
  };
  const std::uint32_t generation = h.row(id).generation.value;
  const std::uint32_t incarnation = worker.incarnation.value;
  EXPECT_FALSE(counts(id, generation, incarnation + 1));
  EXPECT_FALSE(counts(id, generation + 1, incarnation));
  EXPECT_FALSE(counts(JobId{id.value + 1}, 1, 1));
  EXPECT_TRUE(counts(id, generation - 1, incarnation - 1)) << "the core ignores it, and says why";
}

/// A cluster that forgets a job with its last worker.
struct Forgotten {
  ControllerHarness h{{nodes_of(2, 2)}, forgets()};
  JobId gone;

  Forgotten() {
    gone = h.running(JobBuilder("gone"), 1);
    h.succeed(gone, 0);
    h.step(TimeReached{});
    EXPECT_EQ(state().find(gone), nullptr);
  }

  const State& state() const { return h.controller.state(); }

 private:
  static Settings forgets() {
    Settings settings;
    settings.retain_finished_max = 0;
    return settings;
  }
};

TEST(OwnReports, OfAForgottenJobComeLateAndOfOneThatIsToComeAreMadeUp) {
  const Forgotten f;
  for (const bool late : {true, false}) {
    const JobId job = late ? f.gone : f.state().next_job();
    std::vector<WorkersChanged> own;
    const WorkersChanged exits{job, {}, {}, WorkerFact::Exited, Rank{0}, 3};
    EXPECT_EQ(take_own(f.state(), NodeId{0}, exits, own), late);
    EXPECT_EQ(own.size(), late ? 1u : 0u);
    const std::uint64_t before = refusals();
    EXPECT_EQ(is_own(f.state(), NodeId{0}, ProgressReported{job, {}, 5, 1}, {}), late);
    SubMasterSaid word;
    word.job = job;
    EXPECT_EQ(is_own(f.state(), NodeId{0}, word), late);
    EXPECT_EQ(refusals() - before, late ? 0u : 2u);
    EXPECT_FALSE(is_own(f.state(), NodeId{0}, FailureExplained{job, {}, Rank{0}, "it did", ""}))
        << "there is nothing that it explains";
  }
  std::vector<WorkersChanged> own;
  EXPECT_FALSE(
      take_own(f.state(), NodeId{0}, {JobId::none(), {}, {}, WorkerFact::Exited, Rank{0}, 1}, own));
}

TEST(OwnReports, OfAMeasurementThatComesLateNothingCountsAndNoneIsAccused) {
  Forgotten f;
  const JobId over = f.h.running(JobBuilder("over").clean(CleanPodPolicy::None), 1);
  const JobId id = f.h.running(JobBuilder("a").replicas(2), 2, {on(0, 1), on(1, 1)});
  const Generation now = f.h.row(id).generation;
  const std::uint64_t before = refusals();
  f.h.step(StopRequested{0, over});
  EXPECT_FALSE(is_own(f.state(), NodeId{0}, ProfilingChanged{f.gone, now, Rank{0}, {}}));
  EXPECT_FALSE(is_own(f.state(),
                      f.h.job(over).workers[0].node,
                      ProfilingChanged{over, f.h.row(over).generation, Rank{0}, {}}));
  for (const Generation other : {Generation{now.value - 1}, now.next()})
    EXPECT_FALSE(is_own(f.state(), NodeId{0}, ProfilingChanged{id, other, Rank{0}, {}}));
  EXPECT_EQ(refusals(), before);
  EXPECT_TRUE(is_own(f.state(), NodeId{1}, ProfilingChanged{id, now, Rank{1}, {}}));
  EXPECT_FALSE(is_own(f.state(), NodeId{1}, ProfilingChanged{id, now, Rank{2}, {}}));
  EXPECT_EQ(refusals(), before + 1) << "a rank that the job does not have is made up";
}

TEST(OwnReports, ProgressIsTakenLateAndAsTheLastWordOfNodesThatWereAsked) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(JobBuilder("a").elastic(1, 2), 1, {on(0, 1)});
  const State& state = h.controller.state();
  const auto counts = [&](std::uint32_t node, Generation generation, std::vector<NodeId> asked) {
    const ProgressReported progress{id, generation, 5, 1};
    return judged([&] { return is_own(state, NodeId{node}, progress, asked); });
  };
  const Generation now = h.row(id).generation;
  EXPECT_TRUE(counts(1, Generation{now.value - 1}, {})) << "the core ignores it, and says why";
  EXPECT_FALSE(counts(0, now.next(), {}));
  EXPECT_TRUE(counts(0, now, {}));
  EXPECT_FALSE(counts(1, now, {NodeId{1}})) << "others run it now";
  h.plan(grant(id, 0));
  h.stop_all();
  ASSERT_TRUE(h.job(id).workers.empty());
  EXPECT_TRUE(counts(0, now, {NodeId{0}}));
  EXPECT_FALSE(counts(1, now, {NodeId{0}}));
}

TEST(OwnReports, AnEndIsExplainedByTheNodeWhereItWas) {
  ControllerHarness h({nodes_of(2, 1)});
  const JobId id = h.running(JobBuilder("a").limit(3).no_unknown(), 1, {on(0, 1)});
  const Worker failed = h.job(id).workers[0];
  h.fail(id, 0);
  h.node_down(0);
  h.pass(Duration::seconds(60));
  h.settle();
  ASSERT_EQ(h.job(id).workers[0].node, NodeId{1}) << "another worker has its place";
  const auto counts = [&](std::uint32_t node, Incarnation incarnation) {
    const FailureExplained explained{id, incarnation, failed.birth_rank, "it did", ""};
    return judged([&] { return is_own(h.controller.state(), NodeId{node}, explained); });
  };
  EXPECT_TRUE(counts(0, failed.incarnation));
  EXPECT_FALSE(counts(1, failed.incarnation));
  EXPECT_FALSE(counts(0, h.job(id).incarnation)) << "that one runs elsewhere";
  EXPECT_TRUE(counts(1, h.job(id).incarnation));
  EXPECT_FALSE(counts(0, h.job(id).incarnation.next()));
}

TEST(OwnReports, ASubMastersWordMayBeOfAnEarlierStartAndOfNoneToCome) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(JobBuilder("a"), 1, {on(0, 1)});
  SubMasterSaid word;
  word.job = id;
  word.role = RoleIndex{0};
  const auto counts = [&](Incarnation incarnation) {
    word.incarnation = incarnation;
    return judged([&] { return is_own(h.controller.state(), NodeId{1}, word); });
  };
  EXPECT_TRUE(counts(Incarnation{0})) << "the core ignores it, and says why";
  EXPECT_TRUE(counts(h.job(id).incarnation));
  EXPECT_FALSE(counts(h.job(id).incarnation.next()));
}

TEST(OwnReports, OfARunOfRanksEachPartThatIsOwnCounts) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder("three");
  builder.replicas(2).role("middle", 1).role("last", 1);
  const JobId id = h.submit(builder);
  h.plan(grant(id, 2, {on(0, 1), on(1, 1)}));
  const JobState& job = h.job(id);
  ASSERT_EQ(job.workers.size(), 4u);
  const WorkersChanged all{
      id, job.workers[0].born, job.workers[0].incarnation, WorkerFact::Ready, Rank{0}, 4};
  for (std::uint32_t node = 0; node < 2; ++node) {
    std::vector<WorkersChanged> own;
    EXPECT_FALSE(take_own(h.controller.state(), NodeId{node}, all, own));
    std::vector<std::uint32_t> ranks;
    for (const WorkersChanged& run : own)
      for (std::uint32_t i = 0; i < run.count; ++i) ranks.push_back(run.first.value + i);
    std::vector<std::uint32_t> there;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      if (job.workers[rank].node == NodeId{node}) there.push_back(rank);
    EXPECT_EQ(ranks, there) << "node " << node;
  }
}

TEST(OwnReports, AListOfAnotherNodesWorkersEndsThemNowhere) {
  ControllerHarness h({nodes_of(2, 1)});
  const JobId id = h.running(JobBuilder("one"), 1);
  const Worker& worker = h.job(id).workers[0];
  const NodeId other{1 - worker.node.value};
  h.step(NodeReturned{other, {{id, worker.born, worker.incarnation, worker.birth_rank}}});
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  const auto* stop = h.order<StopWorkers>();
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->workers[0].node, other) << "the node that reports it ends what it claims to run";
}

TEST(OwnReports, ABeatCountsForTheNodeOfItsStream) {
  ControllerHarness h({nodes_of(2, 1)});
  StreamsInTest streams;
  Leader leader(Epoch{1}, h.controller.state(), Settings{}, 2, h.now, Duration::zero(), streams);
  leader.establish(h.now);
  leader.connected(NodeId{0});
  HeardBeat heard;
  heard.beat = {NodeId{1}, Epoch{1}, 1, 1, h.now, true, Sequence{}, {}};
  EXPECT_EQ(leader.beat(NodeId{0}, heard, true, h.now), HeartbeatVerdict::UnknownNode);
  EXPECT_FALSE(leader.has_news());
  EXPECT_TRUE(streams.said.empty());
}

}  // namespace
}  // namespace orrery::tests
