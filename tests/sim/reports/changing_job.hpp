// A job whose devices change, as a fixture of tests of what is written about it.
#pragma once

#include <gtest/gtest.h>

#include "sim/results/job_table.hpp"
#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {

inline Instant at_ms(std::int64_t ms) { return Instant::zero() + Duration::milliseconds(ms); }

/// An elastic job: 1 device for 10 s, 3 for 10 s, none for 10 s, 2 others until its end at 40 s.
class ChangingJob : public testing::Test {
 protected:
  ChangingJob() : run_({tests::nodes_of(3, 2)}) {
    using tests::operator+;
    const JobId id = run_.come(tests::job("grows").elastic(1, 6));
    jobs_.add(
        id,
        {.name = "grows", .submitted = run_.now, .devices_requested = 1, .name_space = "default"});
    steps(tests::grant(id, 1, {tests::on(0, 1)}));
    steps(tests::grant(id, 3, {tests::on(0, 1), tests::on(1, 2)}));
    steps(tests::grant(id, 0));
    steps(tests::grant(id, 2, {tests::on(2, 2)}));
    for (std::uint32_t rank = 0; rank < 2; ++rank) run_.succeed(id, rank);
    run_.tell();
    run_.wait_s(60);
    run_.timeline.close(run_.now);
    JobOutcome& job = jobs_[id];
    job.started = at_ms(0);
    job.finished = at_ms(40'000);
    job.phase = JobPhase::Succeeded;
    job.reason = Reason::RequiredSucceeded;
    job.reschedules = 2;
    job.preemptions = 1;
  }

  void steps(const Plan& plan) {
    run_.plan(plan);
    run_.tell();
    run_.settle();
    run_.tell();
    run_.wait_s(10);
  }

  Recorded run_;
  JobTable jobs_;
};

}  // namespace orrery::sim
