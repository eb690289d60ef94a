// One controller in a small cluster, driven by hand. Nothing happens by itself: processes become
// ready and stop when the test says so (`settle` lets all of them do what is expected).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/control/controller.hpp"
#include "tests/support/fake_cluster.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/state_checker.hpp"

namespace orrery::tests {

class ControllerHarness {
 public:
  explicit ControllerHarness(const std::vector<NodeGroup>& groups, Settings settings = {})
      : settings_(std::move(settings)) {
    step(EpochStarted{Epoch{1}, settings_});
    step(NodesDeclared{groups});
  }

  Controller controller;
  FakeCluster cluster;
  Instant now;
  std::vector<CommandBody> orders;  ///< Of the last step.
  std::vector<Notice> notices;      ///< Of all steps since `forget`.

  void forget() { notices.clear(); }

  void step(EventBody body) {
    Commands out;
    controller.step({now, now, Origin::External, std::move(body)}, out);
    checker_.check(controller.state(), out.notices);
    for (const CommandBody& order : out.orders) cluster.issue(order);
    notices.insert(notices.end(), out.notices.begin(), out.notices.end());
    orders = std::move(out.orders);
  }

  /// Lets time pass; deadlines are stepped when they come.
  void pass(Duration d) {
    const Instant until = now + d;
    while (controller.next_deadline() <= until) {
      now = std::max(now, controller.next_deadline());
      step(TimeReached{});
    }
    now = until;
  }

  /// None where it was refused.
  JobId submit(const JobBuilder& job) { return submit(++requests_, job); }

  JobId submit(std::uint64_t request, const JobBuilder& job) {
    step(JobSubmitted{request, std::make_shared<JobSpec>(job.spec())});
    return last_answer().job;
  }

  void plan(const Plan& plan) { step(PlanProposed{{}, PlanTrigger::Period, {}, plan}); }

  /// Every worker becomes ready, and those that were told to stop are gone.
  void settle() {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < cluster.processes.size() && !more; ++i) {
        const FakeProcess& p = cluster.processes[i];
        more = p.stopping || !p.ready;
        if (!more) continue;
        step(p.stopping ? cluster.end(i, WorkerFact::Exited, 143) : cluster.ready(i));
      }
    }
  }

  /// The workers that were told to stop are gone; the others stay as they are.
  void stop_all() {
    for (std::size_t i = cluster.processes.size(); i-- > 0;)
      if (cluster.processes[i].stopping) step(cluster.end(i, WorkerFact::Exited, 143));
  }

  /// Submits, grants and brings up.
  JobId running(const JobBuilder& job,
                std::int32_t replicas,
                const std::vector<NodeCount>& nodes = {}) {
    const JobId id = submit(job);
    plan(grant(id, replicas, nodes));
    settle();
    EXPECT_EQ(phase(id), JobPhase::Running);
    return id;
  }

  std::size_t process(JobId id, std::uint32_t rank) const {
    for (std::size_t i = 0; i < cluster.processes.size(); ++i)
      if (cluster.processes[i].job == id && cluster.processes[i].rank == Rank{rank}) return i;
    ADD_FAILURE() << "no rank " << rank << " of job " << id.value;
    return 0;
  }

  void fail(JobId id, std::uint32_t rank) {
    step(cluster.end(process(id, rank), WorkerFact::Exited, 1));
  }

  void succeed(JobId id, std::uint32_t rank) {
    step(cluster.end(process(id, rank), WorkerFact::Exited, 0));
  }

  void lose(JobId id, std::uint32_t rank) {
    step(cluster.end(process(id, rank), WorkerFact::Lost));
  }

  void make_ready(JobId id, std::uint32_t rank) { step(cluster.ready(process(id, rank))); }

  void node_down(std::uint32_t node) {
    cluster.kill_node(NodeId{node});
    step(NodeSilent{NodeId{node}});
  }

  void node_up(std::uint32_t node) { step(cluster.complete_list(NodeId{node})); }

  void take_over(std::uint32_t epoch) { step(EpochStarted{Epoch{epoch}, settings_}); }

  const JobState& job(JobId id) const { return controller.state().job(id); }

  const JobRow& row(JobId id) const { return job(id).row; }

  JobPhase phase(JobId id) const { return row(id).phase; }

  std::size_t processes_of(JobId id) const {
    return static_cast<std::size_t>(
        std::count_if(cluster.processes.begin(), cluster.processes.end(), [&](const auto& p) {
          return p.job == id && !p.stopping;
        }));
  }

  /// How many notices of the kind give this reason for having changed nothing.
  std::size_t ignored(NoticeKind kind, Ignored why) const {
    return static_cast<std::size_t>(
        std::count_if(notices.begin(), notices.end(), [&](const Notice& n) {
          return n.kind == kind && n.ignored == why;
        }));
  }

  std::size_t reports_ignored(Ignored why) const { return ignored(NoticeKind::IgnoredReport, why); }

  std::size_t grants_dropped(Ignored why) const { return ignored(NoticeKind::GrantDropped, why); }

  /// The first order of this kind in the last step; null where there is none.
  template <class Order>
  const Order* order() const {
    for (const CommandBody& each : orders)
      if (const auto* found = std::get_if<Order>(&each)) return found;
    return nullptr;
  }

  AnswerRequest last_answer() const {
    const AnswerRequest* answer = order<AnswerRequest>();
    return answer == nullptr ? AnswerRequest{} : *answer;
  }

  /// Phases that the job went through since `forget`.
  std::vector<JobPhase> path(JobId id) const {
    std::vector<JobPhase> out;
    for (const Notice& n : notices)
      if (n.kind == NoticeKind::PhaseChanged && n.job == id) out.push_back(n.to);
    return out;
  }

 private:
  Settings settings_;
  StateChecker checker_;
  std::uint64_t requests_ = 0;
};

}  // namespace orrery::tests
