// Queues in front of a policy on two nodes of eight devices, minute by minute.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/registry.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::testing {

inline JobBuilder in(const std::string& queue) { return job().group(queue).estimate(100'000); }

class Queues : public ::testing::Test {
 protected:
  Queues() { cluster_.add_nodes(2, 8); }

  void use(std::string_view name, const std::string& queues) {
    policy_ = policies::make_policy(name, {.parameters = {{"queues", queues}}}).value();
  }

  std::vector<JobId> submit(int n, const JobBuilder& builder) {
    std::vector<JobId> out;
    for (; n > 0; --n) {
      out.push_back(cluster_.submit(builder));
      cluster_.carry_out(cluster_.ask_allocate(*policy_, out.back()));
    }
    return out;
  }

  JobId submit_of(const std::string& user, const JobBuilder& builder) {
    JobSpec spec = *builder.spec();
    spec.name = user + ".job-" + std::to_string(++named_);
    const JobId id = cluster_.submit(std::make_shared<const JobSpec>(spec));
    cluster_.carry_out(cluster_.ask_allocate(*policy_, id));
    return id;
  }

  void plan() {
    for (int i = 0; i < 10; ++i) {
      const Plan plan = cluster_.ask_optimize(*policy_);
      if (plan.empty()) break;
      cluster_.carry_out(plan);
    }
    EXPECT_THAT(cluster_.violations(), ::testing::IsEmpty());
  }

  void pass(std::int64_t seconds) {
    cluster_.advance(seconds);
    plan();
  }

  std::int32_t held(const std::string& group) const {
    std::int32_t sum = 0;
    for (const JobId id : cluster_.holding())
      if (*cluster_.job(id).spec.group == group) sum += cluster_.row(id).devices_held;
    return sum;
  }

  FakeCluster cluster_;
  std::unique_ptr<Policy> policy_;
  int named_ = 0;
};

}  // namespace orrery::testing
