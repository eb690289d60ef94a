// A policy that misbehaves as a file tells it: for tests of what contains it. No user can reach it.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/plan/policy.hpp"
#include "runtime/planner/serve_plans.hpp"

namespace orrery::tests {

/// A plan of all that no allocator can carry out.
inline Plan nonsense_plan() {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  Plan plan;
  plan.nodes = {{NodeId{0}, kMost},
                {NodeId{4'000'000'000}, 1},
                {NodeId::none(), 1},
                {NodeId{0}, kLeast},
                {NodeId{1}, -1}};
  for (const JobId job : {JobId{0}, JobId{1}, JobId{999'999}, JobId::none()}) {
    plan.grant(job, kMost);
    plan.grant(job, kLeast);
    plan.grant(job, -1);
    plan.grants.push_back({job, RoleIndex{60'000}, 1, 0, 0});
    plan.grants.push_back({job, RoleIndex::none(), kMost, 0, 1});
    plan.grants.push_back({job, RoleIndex::none(), 1, 1, 1});
    plan.grants.push_back({job, RoleIndex::none(), 1, 2, 1});
    plan.grants.push_back({job, RoleIndex::none(), kLeast, 3, 1});
    plan.grants.push_back({job, RoleIndex::none(), 1, kFar, 1});
    plan.grants.push_back({job, RoleIndex::none(), 1, 0, kFar});
    plan.grants.push_back({job, RoleIndex::none(), 2, 1, 4});
  }
  return plan;
}

/// No more of it than there are jobs in a small cluster: a longer plan is not looked at.
inline Plan brief_nonsense_plan() {
  const Plan all = nonsense_plan();
  Plan plan;
  plan.nodes = all.nodes;
  for (const std::size_t i : {1U, 18U, 22U}) plan.grants.push_back(all.grants[i]);
  return plan;
}

/// Does what the file says when it is asked, and as `inner` does where the file is not there.
class PlantedPolicy final : public Policy {
 public:
  PlantedPolicy(std::unique_ptr<Policy> inner, std::string file)
      : inner_(std::move(inner)), file_(std::move(file)) {}

  std::string_view name() const override { return inner_->name(); }

  Triggers triggers() const override { return inner_->triggers(); }

  bool sizes_jobs() const override { return inner_->sizes_jobs(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    if (Plan plan; misbehaves(view, plan)) return plan;
    return inner_->allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    ++cycles_;
    if (Plan plan; misbehaves(view, plan)) return plan;
    return inner_->optimize(view);
  }

  void save(ByteWriter& out) const override { out.varint(cycles_); }

  void load(ByteReader& in) override { cycles_ = in.varint(); }

 private:
  bool misbehaves(const ClusterView& view, Plan& plan) {
    std::ifstream in(file_);
    std::string what;
    if (!std::getline(in, what)) return false;
    if (what == "throws") throw std::runtime_error("planted in a test");
    if (what == "throws a number") throw 7;
    if (what == "loops")
      while (true) spin_ = spin_ + 1;
    if (what == "loops over its view")
      while (true) spin_ = spin_ + static_cast<std::uint64_t>(view.devices_usable());
    if (what == "sleeps") std::this_thread::sleep_for(std::chrono::hours(24));
    if (what == "exits") ::_exit(5);
    if (what == "crashes") {
      ::signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end it with an exit code.
      ::raise(SIGSEGV);
    }
    if (what == "leaks") leak();
    if (what == "garbage") say("this is no frame, and it is long enough for the head of one");
    if (what == "too long") say(std::string("\xff\xff\xff\xff\x04", 5));
    if (what == "truncated") {
      say(std::string("\x40\x00\x00\x00\x04", 5) + "part");
      ::_exit(0);
    }
    if (what == "closes") {
      ::close(runtime::kPlannerFd);
      std::this_thread::sleep_for(std::chrono::hours(24));
    }
    if (what == "nonsense") plan = nonsense_plan();
    if (what == "brief nonsense") plan = brief_nonsense_plan();
    if (what == "many grants")
      for (int i = 0; i < 100'000; ++i) plan.grant(JobId{0}, 1);
    if (what == "counts") plan.grant(JobId{0}, static_cast<std::int32_t>(cycles_));
    return true;
  }

  static void say(const std::string& bytes) {
    (void)::send(runtime::kPlannerFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  /// What counts is what it has asked for; to write to it would only take time.
  void leak() {
    while (true) leaked_.emplace_back().reserve(std::size_t{16} << 20);
  }

  std::unique_ptr<Policy> inner_;
  std::string file_;
  std::uint64_t cycles_ = 0;
  volatile std::uint64_t spin_ = 0;
  std::vector<std::string> leaked_;
};

}  // namespace orrery::tests
