// The tick loop of the Pollux artifact over this project's job model, without controller or world:
// an oracle for the published completion times, and the shortest description of the mode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/models/pollux_job.hpp"
#include "policies/most_free.hpp"
#include "sim/pollux/workload.hpp"

namespace orrery::tests {

using policies::NodeGpus;
using Spot = std::vector<NodeGpus>;  ///< Nodes of one job in rank order; empty: no GPUs.

struct ReferenceJob {
  const sim::PolluxSubmission* submission;
  PolluxJob model;
  Spot spot = {};
};

/// Decides the next spot of every active job; both vectors run in submission order.
class ReferencePolicy {
 public:
  virtual ~ReferencePolicy() = default;
  virtual std::vector<Spot> decide(const std::vector<ReferenceJob*>& active,
                                   Instant now,
                                   std::vector<int> free_gpus) = 0;
};

class ReferenceTiresias : public ReferencePolicy {
 public:
  std::vector<Spot> decide(const std::vector<ReferenceJob*>& active,
                           Instant now,
                           std::vector<int> free_gpus) override {
    const int gpus = std::accumulate(free_gpus.begin(), free_gpus.end(), 0);
    std::vector<std::size_t> order[2];
    for (std::size_t i = 0; i < active.size(); ++i) {
      State& state = states_[active[i]->submission->name];
      if (state.running)
        state.service += (now - checked_at_).ns / 1'000'000'000 * active[i]->submission->replicas;
      if (state.demotion == 0 && state.service >= 57'600) state.demotion = ++demotions_;
      order[state.demotion > 0].push_back(i);
    }
    checked_at_ = now;
    std::sort(order[1].begin(), order[1].end(), [&](std::size_t a, std::size_t b) {
      return states_[active[a]->submission->name].demotion <
             states_[active[b]->submission->name].demotion;
    });
    std::vector<Spot> spots(active.size());
    int left = gpus;
    for (const auto& queue : order) {
      for (const std::size_t i : queue) {
        State& state = states_[active[i]->submission->name];
        state.running = active[i]->submission->replicas <= left;
        if (!state.running) continue;
        left -= active[i]->submission->replicas;
        spots[i] = active[i]->spot;
        for (const NodeGpus& held : spots[i]) {
          free_gpus[static_cast<std::size_t>(held.node)] -= held.gpus;
        }
      }
    }
    for (const auto& queue : order) {
      for (const std::size_t i : queue) {
        if (!states_[active[i]->submission->name].running || !spots[i].empty()) continue;
        spots[i] = policies::take_most_free(free_gpus, active[i]->submission->replicas);
      }
    }
    return spots;
  }

 private:
  struct State {
    bool running = false;
    std::int64_t service = 0;
    int demotion = 0;
  };

  std::map<std::string, State> states_;
  Instant checked_at_;
  int demotions_ = 0;
};

class ReferenceOptimus : public ReferencePolicy {
 public:
  std::vector<Spot> decide(const std::vector<ReferenceJob*>& active,
                           Instant /*now*/,
                           std::vector<int> free_gpus) override {
    int left = std::accumulate(free_gpus.begin(), free_gpus.end(), 0);
    std::vector<int> counts(active.size());
    std::vector<double> gains(active.size());
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (left == 0) break;
      counts[i] = 1;
      --left;
      gains[i] = left > 0 ? gain(*active[i], 1) : 0;
    }
    while (left > 0) {
      const auto best = std::max_element(gains.begin(), gains.end());
      if (*best <= 0) break;
      const auto i = static_cast<std::size_t>(best - gains.begin());
      ++counts[i];
      gains[i] = gain(*active[i], counts[i]);
      --left;
    }
    std::vector<Spot> spots(active.size());
    std::vector<std::size_t> order(active.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return counts[a] < counts[b];
    });
    for (const std::size_t i : order) {
      int held = 0;
      for (const NodeGpus& node : active[i]->spot) held += node.gpus;
      if (held != counts[i]) continue;
      spots[i] = active[i]->spot;
      for (const NodeGpus& node : spots[i]) {
        free_gpus[static_cast<std::size_t>(node.node)] -= node.gpus;
      }
    }
    for (const std::size_t i : order) {
      if (counts[i] > 0 && spots[i].empty()) {
        spots[i] = policies::take_most_free(free_gpus, counts[i]);
      }
    }
    return spots;
  }

 private:
  double time_of(const PolluxJob& job, int replicas) {
    auto& times = times_[{job.application().name(), job.total_batch()}];
    while (static_cast<int>(times.size()) <= replicas) {
      times.push_back(times.empty() ? 0
                                    : *job.application().packed_iteration_time(
                                          job.total_batch(), static_cast<int>(times.size()), 4));
    }
    return times[static_cast<std::size_t>(replicas)];
  }

  double gain(const ReferenceJob& job, int replicas) {
    const PolluxApplication& application = job.model.application();
    const int batch = job.model.total_batch();
    if (replicas + 1 > application.replicas_max(batch)) return 0;
    return (time_of(job.model, replicas) - time_of(job.model, replicas + 1)) *
           application.iterations_left(batch, job.model.epoch());
  }

  std::map<std::pair<std::string, int>, std::vector<double>> times_;
};

/// Job completion times in seconds by name on `nodes` nodes of `gpus_per_node`.
inline std::map<std::string, std::int64_t> reference_completion_times(
    const sim::PolluxProfiles& profiles,
    const std::vector<sim::PolluxSubmission>& submissions,
    ReferencePolicy& policy,
    int nodes = 16,
    int gpus_per_node = 4) {
  std::vector<ReferenceJob> jobs;
  for (const sim::PolluxSubmission& submission : submissions) {
    jobs.push_back({&submission,
                    PolluxJob(profiles.find(submission.application)->second,
                              submission.total_batch,
                              Instant::zero())});
  }
  constexpr Duration tick = Duration::seconds(60);
  Instant now = Instant::zero();
  bool unfinished = true;
  while (unfinished) {
    unfinished = false;
    now = now + tick;
    std::vector<ReferenceJob*> active;
    for (ReferenceJob& job : jobs) {
      job.model.step(tick);
      if (job.model.completed_at()) continue;
      unfinished = true;
      if (job.submission->submitted_at <= now) active.push_back(&job);
    }
    if (active.empty()) continue;
    const std::vector<Spot> spots = policy.decide(
        active, now, std::vector<int>(static_cast<std::size_t>(nodes), gpus_per_node));
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (spots[i] == active[i]->spot) continue;
      active[i]->spot = spots[i];
      std::vector<int> gpus;
      for (const NodeGpus& node : spots[i]) gpus.push_back(node.gpus);
      invariant(active[i]->model.reallocate(gpus), "the profile reaches every placement");
    }
  }
  std::map<std::string, std::int64_t> times;
  for (const ReferenceJob& job : jobs) {
    times[job.submission->name] =
        (*job.model.completed_at() - job.submission->submitted_at).ns / 1'000'000'000;
  }
  return times;
}

}  // namespace orrery::tests
