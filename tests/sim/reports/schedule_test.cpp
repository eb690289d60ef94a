#include "sim/reports/schedule.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/reports/machine_states.hpp"
#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {
namespace {

Instant at_s(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Two nodes of 4 devices: 2 devices for 20 s, then nothing; one node out of contact for the
/// last 5.
class TwoNodes : public testing::Test {
 protected:
  TwoNodes() : run_({tests::nodes_of(2, 4)}, {.states_max = 100}) {
    const JobId id = run_.come(tests::job("a").replicas(2));
    jobs_.add(id, {.name = "a", .submitted = at_s(0)});
    run_.wait_s(10);
    run_.plan(tests::grant(id, 2, {tests::on(0, 2)}));
    run_.tell();
    run_.settle();
    run_.tell();
    run_.wait_s(15);
    run_.node_down(1);
    run_.tell();
    run_.wait_s(5);
    for (std::uint32_t rank = 0; rank < 2; ++rank) run_.succeed(id, rank);
    run_.tell();
    run_.wait_s(100);
    run_.timeline.close(run_.now);
    jobs_[id].started = at_s(10);
    jobs_[id].finished = at_s(30);
    jobs_[id].phase = JobPhase::Succeeded;
    jobs_.add(JobId(1), {.name = "never", .submitted = at_s(0)});
    jobs_[JobId(1)].finished = at_s(0);
    jobs_[JobId(1)].phase = JobPhase::Failed;
  }

  Recorded run_;
  JobTable jobs_;
};

TEST_F(TwoNodes, GiveAScheduleWhoseMachineTimeIsWhole) {
  Summary summary;
  summary.makespan_s = 30;
  const Schedule schedule = schedule_of(summary, jobs_, run_.timeline);
  EXPECT_EQ(schedule.nb_jobs, 2U);
  EXPECT_EQ(schedule.nb_jobs_finished, 1U);
  EXPECT_EQ(schedule.nb_jobs_rejected, 1U);
  EXPECT_EQ(schedule.success_rate, 0.5);
  EXPECT_EQ(schedule.mean_waiting_time, 10);
  EXPECT_EQ(schedule.mean_turnaround_time, 30);
  EXPECT_EQ(schedule.max_slowdown, 1.5);
  EXPECT_EQ(schedule.time_computing, 40);
  EXPECT_EQ(schedule.time_unavailable, 20);
  EXPECT_EQ(schedule.time_idle, 8 * 30 - 60);
  EXPECT_DOUBLE_EQ(schedule.utilisation, 40.0 / 240);
}

TEST_F(TwoNodes, TellHowManyDevicesCompute) {
  std::ostringstream out;
  write_machine_states(out, run_.timeline);
  EXPECT_EQ(out.str(),
            "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"
            "0.000000,0,0,0,8,0\n"
            "10.000000,0,0,0,6,2\n"
            "25.000000,0,0,0,2,2\n"
            "30.000000,0,0,0,4,0\n");
}

TEST(Schedule, OfARunWithoutJobsIsAllZero) {
  const Schedule schedule = schedule_of({}, JobTable(), Timeline({}));
  EXPECT_EQ(schedule.nb_jobs, 0U);
  EXPECT_EQ(schedule.mean_slowdown, 0);
  EXPECT_EQ(schedule.utilisation, 0);
  EXPECT_NE(schedule_file(schedule).find("\"measured\": {"), std::string::npos);
}

}  // namespace
}  // namespace orrery::sim
