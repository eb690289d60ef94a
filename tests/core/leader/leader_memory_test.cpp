// What a leader keeps of jobs: nothing of those that are over.
#include <gtest/gtest.h>

#include "tests/core/leader/streams_in_test.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::tests {
namespace {

constexpr std::uint32_t kNodes = 64;

/// One job after the other in a state of its own: no controller decides here.
class Life {
 public:
  Life() {
    state_.settings.retain_finished_max = 8;
    for (std::uint32_t n = 0; n < kNodes; ++n) state_.nodes.emplace_back();
  }

  const State& state() const { return state_; }

  JobState& begin(NodeId node) {
    JobState& job = state_.add_job(spec_);
    job.row.generation = Generation{1};
    job.row.phase = JobPhase::Running;
    state_.count_demand(job);
    job.incarnation = Incarnation{1};
    Worker& worker = job.workers.emplace_back();
    worker.role = RoleIndex{0};
    worker.node = node;
    worker.incarnation = Incarnation{1};
    worker.born = Generation{1};
    worker.birth_rank = Rank{0};
    worker.state = WorkerState::Starting;
    return job;
  }

  void end(JobState& job) {
    job.workers[0].state = WorkerState::Succeeded;
    job.row.phase = JobPhase::Succeeded;
    state_.note_final(job);
    state_.retain(job);
    state_.retire_old();
  }

 private:
  static std::shared_ptr<const JobSpec> watched() {
    JobSpec spec = JobBuilder("again").spec();
    spec.failover.edit().hang_after = Duration::seconds(600);
    return std::make_shared<const JobSpec>(spec);
  }

  State state_;
  std::shared_ptr<const JobSpec> spec_ = watched();
};

TEST(LeaderMemory, OfAllTheJobsOfOneTermNothingIsLeft) {
  const int jobs = static_cast<int>(count_of(200'000, 1'000'000));
  Life life;
  StreamsInTest streams;
  Leader leader(Epoch{1}, life.state(), Settings{}, kNodes, {}, Duration::zero(), streams);
  leader.establish({});
  // Half of the nodes are there; orders to the others wait, until those are given up.
  for (std::uint32_t n = 0; n < kNodes / 2; ++n) {
    leader.connected(NodeId{n});
    HeardBeat heard;
    heard.beat = {NodeId{n}, Epoch{1}, 1, 1, {}, true, Sequence{}, {}};
    leader.beat(NodeId{n}, heard, true, {});
  }
  std::size_t most = 0;
  for (int i = 0; i < jobs; ++i) {
    const NodeId node{static_cast<std::uint32_t>(i) % (kNodes / 2)};
    JobState& job = life.begin(node);
    const JobId id = job.row.id;
    WorkerStart start{Rank{0}, RoleIndex{0}, 0, node};
    start.incarnation = Incarnation{1};
    leader.order({Sequence{1}, 0, Epoch{1}, StartWorkers{id, Generation{1}, 1, {start}}});
    leader.reported(
        node, {{id, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{0}}}, {}, {});
    leader.profiled(node, {id, Generation{1}, Rank{0}, {{"step_time_s", 1.0 + i}}}, {});
    most = std::max(most, leader.entries().all());
    leader.reported(
        node, {{id, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}}}, {}, {});
    life.end(job);
    leader.order({Sequence{1}, 1, Epoch{1}, CleanJob{id, CleanPodPolicy::None}});
    // What comes after the end leaves nothing behind either.
    leader.profiled(node, {id, Generation{1}, Rank{0}, {{"step_time_s", 0.5}}}, {});
    leader.drop_news();
    streams.said.clear();
    streams.orders.clear();
    ASSERT_EQ(leader.entries().all(), 0u) << "after job " << i;
  }
  EXPECT_GE(most, 4u) << "of one job: what was asked, expected, watched, told";
}

}  // namespace
}  // namespace orrery::tests
