// The tick loop of the Pollux artifact around a policy and this project's job model, without
// controller or world: an oracle for completion times, and the shortest description of the mode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/models/pollux_job.hpp"
#include "core/placer/registry.hpp"
#include "core/plan/policy.hpp"
#include "sim/pollux/workload.hpp"

namespace orrery::tests {

/// Jobs of a Pollux workload on equal nodes, and the view of them.
class PolluxReference : public ClusterView {
 public:
  static constexpr Duration kTick = Duration::seconds(60);

  PolluxReference(const PolluxProfiles& profiles,
                  const std::vector<sim::PolluxSubmission>& submissions,
                  int nodes = 16,
                  int gpus_per_node = 4,
                  bool tuned = false)
      : devices_(nodes * gpus_per_node), tuned_(tuned) {
    for (int node = 0; node < nodes; ++node) free_.add({.devices = gpus_per_node});
    for (const sim::PolluxSubmission& submission : submissions) {
      const auto& application = profiles.find(submission.application)->second;
      Job& job = jobs_.emplace_back(
          Job{submission,
              PolluxJob(application,
                        tuned ? application.tuned_batch() : submission.total_batch,
                        Instant::zero())});
      describe(job, JobId{static_cast<std::uint32_t>(jobs_.size() - 1)});
    }
  }

  /// Runs to the end. Completion times in seconds from submission, by name.
  std::map<std::string, std::int64_t> run(Policy& policy) {
    placer_ = &placers::named(policy.usual_placer());
    while (ended_ < jobs_.size()) {
      tick();
      if (holding_.empty() && waiting_.empty()) continue;
      apply(policy.optimize(*this));
    }
    std::map<std::string, std::int64_t> times;
    for (const Job& job : jobs_) {
      const Duration time = *job.model.completed_at() - job.submission.submitted_at;
      times[job.submission.name] = time.ns / Duration::seconds(1).ns;
    }
    return times;
  }

  const Placer& placer() const override { return *placer_; }

  Instant now() const override { return now_; }

  const WaitQueue& waiting() const override { return waiting_; }

  std::span<const JobId> holding() const override { return holding_; }

  JobView job(JobId id) const override {
    const Job& job = jobs_[id.index()];
    return {job.row, job.spec, job.sorted_nodes};
  }

  void append_nodes(JobId id, RoleIndex, std::vector<NodeCount>& out) const override {
    const std::vector<NodeCount>& nodes = jobs_[id.index()].sorted_nodes;
    out.insert(out.end(), nodes.begin(), nodes.end());
  }

  const JobRow& row(JobId id) const override { return jobs_[id.index()].row; }

  std::span<const ProfilingSeries> profilings(JobId id) const override {
    return jobs_[id.index()].profilings;
  }

  bool is_live(JobId id) const override { return !jobs_[id.index()].model.completed_at(); }

  const FreeIndex& capacity() const override { return free_; }

  std::int64_t devices_usable() const override { return devices_; }

  bool quota_allows(JobId, std::int32_t) const override { return true; }

  std::int32_t target(JobId, RoleIndex) const override { return 1; }

  DeviceModelId model_named(std::string_view) const override { return DeviceModelId::none(); }

  std::span<const JobId> touched() const override { return {}; }

  bool touched_complete() const override { return false; }

 private:
  struct Job {
    sim::PolluxSubmission submission;
    PolluxJob model;
    JobSpec spec = {};
    JobRow row = {};
    std::vector<NodeCount> nodes = {};         ///< In order of ranks.
    std::vector<NodeCount> sorted_nodes = {};  ///< As a view shows them.
    std::vector<ProfilingSeries> profilings = {};
    bool submitted = false;
  };

  void describe(Job& job, JobId id) {
    RoleSpec& role = job.spec.roles.emplace_back();
    role.max_replicas = static_cast<std::int32_t>(devices_);
    role.bundle.devices = 1;
    job.spec.preemptible = true;
    job.spec.profile = job.submission.application;
    job.spec.batch_size = job.submission.total_batch;
    job.spec.rigid_replicas = job.submission.replicas;
    job.row.id = id;
    job.row.preemptible = true;
    job.row.elastic = RoleIndex{0};
    job.row.max_replicas = role.max_replicas;
    if (tuned_) {
      const PolluxApplication& application = job.model.application();
      job.row.max_replicas =
          std::min(role.max_replicas, application.replicas_max(application.limits().total_max));
    }
    job.row.demand.devices = 1;
    job.row.submitted = job.submission.submitted_at;
  }

  /// All jobs advance; then completions and submissions up to now are seen.
  void tick() {
    now_ = now_ + kTick;
    for (Job& job : jobs_) {
      const bool lived = is_live(job.row.id);
      job.model.step(kTick);
      job.row.progress.epoch = job.model.epoch();
      if (job.row.holds) report(job);
      if (lived && !is_live(job.row.id)) {
        release(job);
        ++ended_;
      } else if (!job.submitted && job.submission.submitted_at <= now_) {
        job.submitted = true;
        waiting_.insert(0, {.job = job.row.id});
      }
    }
    list_holding();
  }

  /// A plan is one change: all that it takes back is free before any of it is given.
  void apply(const Plan& plan) {
    for (const Grant& grant : plan.grants) {
      Job& job = jobs_[grant.job.index()];
      const bool held = job.row.holds;
      release(job);
      if (grant.replicas == 0) {
        invariant(held, "a job that waits is not preempted");
        invariant(job.model.reallocate({}), "giving back always works");
        waiting_.insert(0, {.job = grant.job});
      } else if (!held) {
        waiting_.erase(0, grant.job);
      }
    }
    for (const Grant& grant : plan.grants) {
      if (grant.replicas > 0) give(jobs_[grant.job.index()], grant, plan);
    }
    list_holding();
  }

  void give(Job& job, const Grant& grant, const Plan& plan) {
    const auto first = plan.nodes.begin() + grant.first_node;
    job.nodes.assign(first, first + grant.node_count);
    std::vector<int> gpus;
    for (const NodeCount& node : job.nodes) {
      free_.take(node.node, job.row.demand, node.replicas);
      invariant(free_.at(node.node).devices >= 0, "a plan fits");
      gpus.push_back(node.replicas);
    }
    invariant(job.model.reallocate(gpus), "the profile reaches every placement");
    job.sorted_nodes = job.nodes;
    std::sort(job.sorted_nodes.begin(),
              job.sorted_nodes.end(),
              [](const NodeCount& a, const NodeCount& b) { return a.node < b.node; });
    job.row.holds = true;
    job.row.phase = JobPhase::Running;
    ++job.row.generation.value;
    job.row.replicas = job.row.devices_held = grant.replicas;
    job.row.attained_as_of = now_;
  }

  void release(Job& job) {
    job.row.attained_us = job.row.attained_device_us(now_);
    job.row.attained_as_of = now_;
    for (const NodeCount& node : job.nodes) free_.give(node.node, job.row.demand, node.replicas);
    job.nodes.clear();
    job.sorted_nodes.clear();
    job.row.holds = false;
    job.row.phase = JobPhase::Pending;
    job.row.replicas = job.row.devices_held = 0;
  }

  void list_holding() {
    holding_.clear();
    for (const Job& job : jobs_) {
      if (job.row.holds) holding_.push_back(job.row.id);
    }
  }

  /// What the job's workers reported at the last tick.
  void report(Job& job) {
    const std::optional<TrainingReport> last = job.model.take_report();
    if (!last) return;
    const BatchLimits& limits = job.model.application().limits();
    const auto say = [&](const char* key, double value) {
      job.profilings.push_back({key, {{now_, job.row.generation, Rank{0}, value}}});
    };
    job.profilings.clear();
    say("step_time_s", last->observed.step_s);
    say("compute_time_s", last->observed.compute_s);
    say("batch_size", last->split.total(last->observed.spread.replicas));
    say("accum_steps", last->split.accumulation_steps);
    say("grad_sqr", last->stats.sqr);
    say("grad_var", last->stats.var);
    say("batch_size_initial", limits.initial_total);
    say("batch_size_max", limits.total_max);
    say("local_batch_min", limits.atomic_min);
    say("local_batch_max", limits.atomic_max);
  }

  std::int64_t devices_;
  bool tuned_;  ///< Jobs choose their batch.
  const Placer* placer_ = &placers::initial();
  std::vector<Job> jobs_;
  FreeIndex free_;
  WaitQueue waiting_;
  std::vector<JobId> holding_;
  std::size_t ended_ = 0;
  Instant now_;
};

}  // namespace orrery::tests
