// A whole run of a policy on a FakeCluster: submissions, ends and periods in order of time.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/policy.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::testing {

/// One job of a workload.
struct Arrival {
  Instant at;
  std::shared_ptr<const JobSpec> spec;
  double work = 60;  ///< Seconds at the minimum of replicas.
  RateCurve curve;   ///< Empty: proportional to the replicas.
};

/// The same cluster as a new reader sees it.
class FreshView : public ClusterView {
 public:
  explicit FreshView(const FakeCluster& cluster) : cluster_(cluster) {}

  Instant now() const override { return cluster_.now(); }

  const WaitQueue& waiting() const override { return cluster_.waiting(); }

  std::span<const JobId> holding() const override { return cluster_.holding(); }

  JobView job(JobId id) const override { return cluster_.job(id); }

  void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const override {
    cluster_.append_nodes(id, role, out);
  }

  const JobRow& row(JobId id) const override { return cluster_.row(id); }

  JobId partner(JobId id) const override { return cluster_.partner(id); }

  bool is_live(JobId id) const override { return cluster_.is_live(id); }

  const FreeIndex& capacity() const override { return cluster_.capacity(); }

  std::int64_t devices_usable() const override { return cluster_.devices_usable(); }

  bool quota_allows(JobId id, std::int32_t devices) const override {
    return cluster_.quota_allows(id, devices);
  }

  std::int32_t target(JobId id, RoleIndex role) const override { return cluster_.target(id, role); }

  DeviceModelId model_named(std::string_view name) const override {
    return cluster_.model_named(name);
  }

  std::span<const JobId> touched() const override { return {}; }

  bool touched_complete() const override { return false; }

 private:
  const FakeCluster& cluster_;
};

/// Asks the policy at each of its triggers, carries its plans out, and keeps a log of them.
class FakeRun {
 public:
  FakeRun(FakeCluster cluster, std::vector<Arrival> arrivals)
      : cluster_(std::move(cluster)), arrivals_(std::move(arrivals)) {}

  /// After each plan asks again on the outcome until the policy is silent; more than this many
  /// rounds are noted in `restless`. 0: never asks again.
  void settle(int rounds) { settle_rounds_ = rounds; }

  /// Before each question, puts it also to a fresh policy that loads the state of the asked one and
  /// sees a view without history; different answers are noted in `history_matters`.
  void compare_with_fresh(std::function<std::unique_ptr<Policy>()> make) {
    make_fresh_ = std::move(make);
  }

  bool history_matters() const { return history_matters_; }

  /// One instant: what is due, and the policy's answers. False when nothing is left to happen, or
  /// nothing until `latest`, which it is then.
  bool step(Policy& policy, Instant latest = Instant::never()) {
    const Instant next = next_instant(policy);
    if (next > latest) cluster_.advance_to(latest);
    if (next.is_never() || next > latest) return false;
    const std::size_t live = cluster_.live_count();
    cluster_.advance_to(next);
    const bool ended = cluster_.live_count() < live;
    if (ended && policy.triggers().completion) do_plan(optimize(policy));
    bool submitted = false;
    for (; arrived_ < arrivals_.size() && arrivals_[arrived_].at <= next; ++arrived_) {
      const Arrival& a = arrivals_[arrived_];
      const JobId id = cluster_.submit(a.spec, a.work);
      if (a.curve) cluster_.set_rate(id, a.curve);
      do_plan(allocate(policy, id));
      submitted = true;
    }
    if (submitted && policy.triggers().submission) do_plan(optimize(policy));
    if (is_cycle(policy, next)) do_plan(optimize(policy));
    if (settle_rounds_ > 0) settle(policy);
    ++steps_;
    return true;
  }

  /// Runs to the end; false where jobs are left after so many steps.
  bool run(Policy& policy, std::size_t steps_max = 100'000) {
    while (steps_ < steps_max && step(policy)) continue;
    return cluster_.live_count() == 0 && arrived_ == arrivals_.size();
  }

  FakeCluster& cluster() { return cluster_; }

  /// All plans that were not empty, in order, each with its time.
  const std::vector<std::pair<Instant, Plan>>& plans() const { return plans_; }

  bool restless() const { return restless_; }

  /// Called after each plan was carried out.
  std::function<void()> after_plan;

 private:
  Instant next_instant(const Policy& policy) const {
    Instant next = cluster_.next_end();
    if (arrived_ < arrivals_.size()) next = std::min(next, arrivals_[arrived_].at);
    const Duration period = policy.triggers().period;
    // Where nothing runs and nothing comes, only a cycle can help; a few must do.
    if (period.ns > 0 && (!next.is_never() || idle_cycles_ < 3) && cluster_.live_count() > 0)
      next = std::min(next, Instant{(cluster_.now().ns / period.ns + 1) * period.ns});
    idle_cycles_ = cluster_.next_end().is_never() ? idle_cycles_ + 1 : 0;
    return next;
  }

  static bool is_cycle(const Policy& policy, Instant t) {
    const Duration period = policy.triggers().period;
    return period.ns > 0 && t.ns % period.ns == 0;
  }

  std::unique_ptr<Policy> fresh_copy(const Policy& policy) const {
    ByteWriter out;
    policy.save(out);
    std::unique_ptr<Policy> fresh = make_fresh_();
    ByteReader in(out.bytes());
    fresh->load(in);
    return fresh;
  }

  Plan optimize(Policy& policy) {
    if (!make_fresh_) return cluster_.ask_optimize(policy);
    const auto fresh = fresh_copy(policy);
    const Plan expected = fresh->optimize(FreshView(cluster_));
    Plan plan = cluster_.ask_optimize(policy);
    history_matters_ = history_matters_ || plan != expected;
    return plan;
  }

  Plan allocate(Policy& policy, JobId id) {
    if (!make_fresh_) return cluster_.ask_allocate(policy, id);
    const auto fresh = fresh_copy(policy);
    const FreshView view(cluster_);
    const Plan expected = fresh->allocate(view.job(id), view);
    Plan plan = cluster_.ask_allocate(policy, id);
    history_matters_ = history_matters_ || plan != expected;
    return plan;
  }

  void do_plan(Plan plan) {
    if (plan.empty()) return;
    cluster_.carry_out(plan);
    plans_.emplace_back(cluster_.now(), std::move(plan));
    if (after_plan) after_plan();
  }

  void settle(Policy& policy) {
    for (int round = 0; round < settle_rounds_; ++round) {
      Plan plan = optimize(policy);
      if (plan.empty()) return;
      do_plan(std::move(plan));
    }
    restless_ = true;
  }

  FakeCluster cluster_;
  std::vector<Arrival> arrivals_;
  std::size_t arrived_ = 0;
  std::size_t steps_ = 0;
  int settle_rounds_ = 0;
  bool restless_ = false;
  std::function<std::unique_ptr<Policy>()> make_fresh_;
  bool history_matters_ = false;
  mutable int idle_cycles_ = 0;
  std::vector<std::pair<Instant, Plan>> plans_;
};

}  // namespace orrery::testing
