// What starts, hellos and pauses took in a recorded run, by which its jobs end again when they did.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"
#include "tests/sim/rehearsal/what_ifs.hpp"

namespace orrery::sim {
namespace {

/// An elastic job that gives way to others twice, and grows again.
std::string gives_way(const std::string& timing, const std::string& hello = "") {
  return "policy: fit\ncluster: {nodes: 2, gpus_per_node: 4}\ntiming: " + timing + R"(
jobs:
  - {name: elastic, )" +
         hello + R"(replicas: {min: 1, max: 8}, work: {units: 7200, throughput: 1}}
  - {name: b, at: 5min, replicas: 4, work: 10min}
  - {name: c, at: 20min, replicas: 2, work: 5min}
)";
}

TEST(RecordedTimes, WorkersThatSayNoHelloAreStartedAnewAgain) {
  for (const char* hello : {"never", "0s", "40s"}) {
    SCOPED_TRACE(hello);
    MemoryStore store;
    record(gives_way("{start: 60s, stop: 5s, restore: 30s}",
                     "hello_after: " + std::string(hello) + ", "),
           store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    const auto& after = rehearsal.truth.jobs.front().job.times->hello_after;
    ASSERT_TRUE(after);
    EXPECT_EQ(after->is_forever(), std::string(hello) == "never");
    EXPECT_FALSE(rehearsal.truth.jobs.back().job.times->hello_after);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

/// The journal of real workers, which come up one by one: of the first start each a second after
/// the one before, and all that follows as much later.
void record_one_by_one(StateStore& recorded, StateStore& out) {
  std::vector<Event> events;
  Duration later;
  ASSERT_TRUE(read_journal(recorded, Sequence{1}, {}, [&](Sequence, const Event& event) {
    Event moved = event;
    moved.at = moved.at + later;
    moved.occurred_at = moved.occurred_at + later;
    events.push_back(moved);
    auto* up = std::get_if<WorkersChanged>(&events.back().body);
    if (up == nullptr || up->fact != WorkerFact::Ready || later > Duration::zero()) return true;
    const std::uint32_t workers = std::exchange(up->count, 1);
    for (std::uint32_t k = 1; k < workers; ++k) {
      events.push_back(events.back());
      Event& next = events.back();
      ++std::get<WorkersChanged>(next.body).first.value;
      next.at = next.at + Duration::seconds(1);
      next.occurred_at = next.occurred_at + Duration::seconds(1);
      later = later + Duration::seconds(1);
    }
    return true;
  }));
  Digest chain;
  Sequence sequence;
  for (const Event& event : events) {
    ByteWriter bytes;
    encode(event, bytes);
    Digester digester(chain);
    digester.update(bytes.bytes());
    chain = digester.finish();
    sequence = sequence.next();
    const std::array records{StoredRecord{sequence, chain, bytes.bytes()}};
    ASSERT_TRUE(out.append(Epoch{1}, records));
  }
}

TEST(RecordedTimes, AFirstStartWhoseWorkersComeUpOneByOneIsNoRestart) {
  MemoryStore at_once;
  record("cluster: {nodes: 1}\ntiming: {start: 3s}\njobs: [{name: a, replicas: 3, work: 60s}]\n",
         at_once);
  MemoryStore store;
  record_one_by_one(at_once, store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.timing.start, Duration::seconds(5)) << "until the last one is up";
  EXPECT_EQ(rehearsal.recorded.jobs.front().finished, Instant{} + Duration::seconds(65));
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(RecordedTimes, AStartThatASilentNodeDidNotHearBeginsAsItReturns) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 1}
timing: {start: 3s}
jobs: [{name: waits, at: 150s, work: {units: 1000, throughput: 3}}]
faults: [{at: 146s, kind: down, node: 0, for: 100s}]
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.timing.start, Duration::seconds(3));
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(RecordedTimes, APauseIsFoundWhateverTheSpeedsInIt) {
  for (const char* text :
       {"timing: {start: 10s, rescale: 30s}\njobs: [{name: a, replicas: 3, work: "
        "{units: 20000, throughput: 7}, workers: [{rank: 1, after: 100s, exit: "
        "2, times: 2}]}]",
        "timing: {rescale: 1s}\njobs: [{name: a, replicas: 3, work: {units: "
        "2000, throughput: 7}, workers: [{rank: 1, after: 14s, exit: 2, times: "
        "2}]}]"}) {
    SCOPED_TRACE(text);
    MemoryStore store;
    record(std::string("policy: fifo\ncluster: {nodes: 1}\n") + text, store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

TEST(RecordedTimes, PausesOfSeveralChangesBetweenTwoReportsAreAsLong) {
  struct Case {
    const char* timing;
    std::int64_t rescale_s;
  };

  for (const Case& each : {Case{"{start: 25s, rescale: 3s}", 3},
                           Case{"{start: 5s, rescale: 20s}", 20},
                           Case{"{start: 5s, stop: 5s, restore: 7s, rescale: 20s}", 20}}) {
    SCOPED_TRACE(each.timing);
    MemoryStore store;
    record(gives_way(each.timing), store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_EQ(rehearsal.truth.timing.rescale, Duration::seconds(each.rescale_s));
    EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

// No report comes after the pause: the journal does not tell how long it was.
TEST(RecordedTimes, APauseThatIsSaidIsThatOfTheRecordingWhereItIsNotTold) {
  MemoryStore store;
  record(R"(
policy: tiresias
cluster: {nodes: 2}
timing: {rescale: 5s}
jobs:
  - {name: a, replicas: {min: 3, max: 6}, work: {units: 1000, throughput: 2.5}, workers: [{rank: 1, after: 10s, exit: 137}]}
)",
         store);
  RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.timing.rescale, Duration::zero());
  const double units = rehearsal.truth.jobs.front().job.work.units;
  EXPECT_GT(units, 1000);
  const std::vector<scenarios::Override> set{{"timing.rescale", "5s"}};
  const auto scenario = what_if_scenario(rehearsal, "recorded", "", set);
  ASSERT_TRUE(scenario);
  rehearsal.truth = truth_of(rehearsal.recorded, rescale_set_in(*scenario, set));
  EXPECT_NEAR(rehearsal.truth.jobs.front().job.work.units, 1000, 1e-6);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, set)), "");
  EXPECT_FALSE(rescale_set_in(*scenario, {{"timing.stop", "5s"}}));
  // What was observed does not change with what is to be tried.
  MemoryStore told;
  record(gives_way("{start: 5s, rescale: 20s}"), told);
  const RecordedBasis observed = rehearsal_of(told);
  EXPECT_EQ(truth_of(observed.recorded, Duration::seconds(1)).timing.rescale,
            Duration::seconds(20));
}

TEST(RecordedTimes, WhatEndedWellBeforeAllWasDoneDoesSoAgain) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 1}
timing: {checkpoint_interval: 45s}
jobs: [{name: a, work: 188s, workers: [{rank: 0, after: 36s, exit: 137}, {rank: 0, after: 13s, exit: 0}]}]
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.recorded.summary.restarts, 1U);
  EXPECT_GT(rehearsal.truth.jobs.front().job.work.units, 36);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(RecordedTimes, TheWorkOfAJobThatFailsAtItsEndIsWhatTheOthersDid) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 3}
jobs:
  - {name: fails, failover: {response: stop, trigger: at_end}, replicas: 3, work: {units: 900, throughput: 10}, workers: [{rank: 0, after: 12s, exit: 1, times: 3}]}
  - {name: next, replicas: 3, work: {units: 1000, throughput: 10}}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.recorded.summary.jobs_failed, 1U);
  EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
  EXPECT_EQ(rehearsal.truth.jobs.front().job.work.units, 900);
  const WhatIfRun run = what_if(rehearsal, {});
  EXPECT_EQ(run.report.summary.jobs_failed, 1U);
  EXPECT_EQ(changed(rehearsal, run), "");
}

}  // namespace
}  // namespace orrery::sim
