// Expectations of a scenario, judged while it runs.
#pragma once

#include <span>

#include "sim/expectations/expectations.hpp"
#include "sim/run/run.hpp"

namespace orrery::tests {

/// Feeds what a run tells to the judge of its scenario, which outlives it.
class Judge : public sim::RunListener {
 public:
  explicit Judge(const scenarios::Scenario& scenario) : expectations(scenario) {}

  void on_submitted(JobId id, const JobSpec& spec, const sim::JobFacts& facts) override {
    expectations.on_job(id, spec.name, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable&) override {
    expectations.on_notices(notices, state);
  }

  void on_struck(std::uint32_t index, Instant now) override { expectations.on_fault(index, now); }

  sim::ExpectationJudge expectations;
};

}  // namespace orrery::tests
