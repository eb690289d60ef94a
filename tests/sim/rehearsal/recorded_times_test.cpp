// What starts, hellos and pauses took in a recorded run, by which its jobs end again when they did.

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace orrery::sim
