#include "policies/tiresias.hpp"

#include <algorithm>

namespace orrery::policies {

namespace {

constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;

/// The rigid size within what the job's user has asked for since.
std::int32_t rigid_size(const JobView& job) {
  return std::clamp(rigid_replicas(job.spec), job.row.min_replicas, job.row.max_replicas);
}

/// Replicas of the elastic role that the job has, or starts with.
std::int32_t size_of(const JobView& job) {
  return job.row.holds ? job.row.replicas : rigid_size(job);
}

/// Devices of the whole job at its rigid size, as quotas count them.
std::int32_t devices_wanted(const JobView& job) {
  return size_of(job) * job.row.demand.devices + job.row.rest_devices;
}

}  // namespace

Triggers Tiresias::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

Plan Tiresias::allocate(const JobView& /*job*/, const ClusterView& /*view*/) { return {}; }

void Tiresias::demote(const ClusterView& view, const std::vector<JobId>& jobs) {
  std::erase_if(demoted_, [&](JobId job) { return !view.is_live(job); });
  std::vector<JobId> known = demoted_;
  std::sort(known.begin(), known.end());
  const std::int64_t threshold = parameters_.threshold_device_s * kMicrosecondsPerSecond;
  for (const JobId job : jobs) {
    if (view.row(job).attained_device_us(view.now()) < threshold) continue;
    if (!std::binary_search(known.begin(), known.end(), job)) demoted_.push_back(job);
  }
}

std::vector<JobId> Tiresias::queue_order(const ClusterView& view,
                                         const std::vector<JobId>& jobs) const {
  std::vector<JobId> known = demoted_;
  std::sort(known.begin(), known.end());
  std::vector<JobId> order;
  for (const JobId job : jobs) {
    if (!std::binary_search(known.begin(), known.end(), job)) order.push_back(job);
  }
  // A demoted job that is live but neither waits nor holds (it drains) is not scheduled now.
  std::vector<JobId> listed = jobs;
  std::sort(listed.begin(), listed.end());
  for (const JobId job : demoted_) {
    if (std::binary_search(listed.begin(), listed.end(), job)) order.push_back(job);
  }
  std::stable_sort(order.begin(), order.end(), [&](JobId a, JobId b) {
    return view.row(a).priority > view.row(b).priority;
  });
  return order;
}

Tiresias::Choice Tiresias::choose(const ClusterView& view,
                                  const std::vector<JobId>& queue,
                                  const std::vector<JobId>& blocked) const {
  Choice choice;
  std::int64_t left = thousandths_to_share(view);
  for (const JobId id : queue) {
    const JobView job = view.job(id);
    if (job.row.holds && job.row.is_fixed()) continue;
    const std::int64_t wanted = job.row.thousandths_at(size_of(job));
    const bool runs = wanted <= left && !std::binary_search(blocked.begin(), blocked.end(), id) &&
                      (job.row.holds || view.quota_allows(id, devices_wanted(job)));
    if (runs) left -= wanted;
    if (runs && !job.row.holds) choice.starting.push_back(id);
    if (!runs && job.row.holds) choice.preempted.push_back(id);
  }
  return choice;
}

/// False where a preemption would help no job: some job does not fit although its count does. Such
/// jobs are added to `blocked`, which stays sorted.
bool Tiresias::place(const ClusterView& view,
                     const Choice& choice,
                     Plan& plan,
                     std::vector<JobId>& blocked) {
  placer_.begin(view);
  for (const JobId id : choice.preempted) {
    plan.preempt(id);
    placer_.give_back(view, view.job(id));
  }
  const std::size_t blocked_before = blocked.size();
  for (const JobId id : choice.starting) {
    const JobView job = view.job(id);
    const std::int32_t replicas = rigid_size(job);
    std::vector<NodeCount> nodes;
    if (placer_.place(view, job, replicas, nodes)) {
      grant_on(id, replicas, nodes, plan);
    } else {
      blocked.push_back(id);
    }
  }
  if (blocked.size() == blocked_before || choice.preempted.empty()) return true;
  std::sort(blocked.begin(), blocked.end());
  return false;
}

Plan Tiresias::optimize(const ClusterView& view) {
  const std::vector<JobId> jobs = jobs_in_order(view);
  demote(view, jobs);
  const std::vector<JobId> queue = queue_order(view, jobs);
  std::vector<JobId> blocked;
  Plan plan;
  // Each round blocks a job more, so the loop ends.
  while (!place(view, choose(view, queue, blocked), plan, blocked)) plan = {};
  return plan;
}

void Tiresias::save(ByteWriter& out) const {
  out.varint(demoted_.size());
  for (const JobId job : demoted_) out.u32(job.value);
}

void Tiresias::load(ByteReader& in) {
  demoted_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    demoted_.push_back(JobId{in.u32()});
  }
}

}  // namespace orrery::policies
