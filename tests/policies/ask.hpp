// Terse questions to a policy about a FakeCluster.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "policies/registry.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery {

inline void PrintTo(JobId id, std::ostream* out) { *out << "job " << id.value; }

namespace testing {

/// A policy of the registry with parameters given as text.
inline std::unique_ptr<Policy> policy(std::string_view name,
                                      std::map<std::string, std::string> parameters = {}) {
  return policies::make_policy(name, {.parameters = std::move(parameters)}).value();
}

/// Asks `optimize`, carries the plan out and returns the jobs that it gave something.
inline std::vector<JobId> started_by_optimize(FakeCluster& cluster, Policy& policy) {
  const Plan plan = cluster.ask_optimize(policy);
  cluster.carry_out(plan);
  std::vector<JobId> started;
  for (const Grant& grant : plan.grants)
    if (grant.replicas > 0) started.push_back(grant.job);
  return started;
}

/// Submits, asks `allocate` and carries the plan out; whether the job then holds devices.
inline JobId submit_and_ask(FakeCluster& cluster,
                            Policy& policy,
                            const JobBuilder& job,
                            double work = -1) {
  const JobId id = cluster.submit(job, work);
  cluster.carry_out(cluster.ask_allocate(policy, id));
  return id;
}

/// `to` goes on as `from`, of which it would save the same bytes.
inline void hand_over(const Policy& from, Policy& to) {
  ByteWriter saved;
  from.save(saved);
  ByteReader in(saved.bytes());
  to.load(in);
  EXPECT_TRUE(in.finished());
  ByteWriter again;
  to.save(again);
  EXPECT_TRUE(std::ranges::equal(saved.bytes(), again.bytes()));
}

inline bool runs(const FakeCluster& cluster, JobId id) { return cluster.row(id).holds; }

}  // namespace testing
}  // namespace orrery
