#include "core/agent/suspicion.hpp"

#include <algorithm>

#include "core/record/codec.hpp"

namespace orrery {

std::vector<std::size_t> stragglers(const std::vector<RankStepTime>& latest, double factor) {
  std::vector<std::size_t> slow;
  if (factor <= 0 || latest.size() < 2) return slow;
  std::vector<double> sorted;
  sorted.reserve(latest.size());
  for (const RankStepTime& time : latest) sorted.push_back(time.seconds);
  std::sort(sorted.begin(), sorted.end());
  const double limit = factor * sorted[(sorted.size() - 1) / 2];
  for (std::size_t i = 0; i < latest.size(); ++i)
    if (latest[i].seconds > limit) slow.push_back(i);
  return slow;
}

void Suspicions::watch(JobId job, const FailoverSpec& wanted) {
  if (wanted.hang_after.is_forever() && wanted.straggler_factor <= 0) return;
  Job& watched = jobs_[job];
  watched.hang_after = wanted.hang_after;
  watched.straggler_factor = wanted.straggler_factor;
}

void Suspicions::forget(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  deadlines_.erase({found->second.deadline, job});
  jobs_.erase(found);
}

void Suspicions::ordered(const CommandBody& order) {
  if (const auto* clean = std::get_if<CleanJob>(&order)) return forget(clean->job);
  if (const auto* start = std::get_if<StartWorkers>(&order)) {
    const auto found = jobs_.find(start->job);
    if (found == jobs_.end()) return;
    for (const WorkerStart& worker : start->workers) {
      if (by_birth(found->second, start->generation, worker.incarnation, worker.rank) != nullptr)
        continue;
      Watched fresh;
      fresh.incarnation = worker.incarnation;
      fresh.born = fresh.generation = start->generation;
      fresh.birth_rank = fresh.rank = worker.rank;
      fresh.role = worker.role;
      found->second.workers.push_back(fresh);
    }
  }
  if (const auto* update = std::get_if<UpdateMembership>(&order)) {
    const auto found = jobs_.find(update->job);
    if (found == jobs_.end()) return;
    for (const WorkerStart& member : update->members) {
      const Rank birth = member.birth_rank.is_none() ? member.rank : member.birth_rank;
      for (Watched& worker : found->second.workers) {
        if (worker.incarnation != member.incarnation || worker.birth_rank != birth) continue;
        worker.generation = update->generation;
        worker.rank = member.rank;
        worker.step_time = 0;  // Another number of workers, other step times.
        worker.told_slow = worker.told_hung = false;
      }
    }
  }
}

void Suspicions::reported(const WorkersChanged& report, Instant now) {
  const auto found = jobs_.find(report.job);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  for (std::uint32_t i = 0; i < report.count; ++i) {
    Watched* worker =
        by_birth(job, report.generation, report.incarnation, Rank{report.first.value + i});
    if (worker == nullptr) continue;
    if (is_up(report.fact)) {
      if (worker->ready) continue;
      worker->ready = true;
      // While one comes up the others wait for it, so what was suspected of them is dropped.
      for (Watched& peer : job.workers) {
        peer.sign_of_life = now;
        peer.told_hung = peer.told_slow = false;
      }
    } else {
      job.workers.erase(job.workers.begin() + (worker - job.workers.data()));
    }
  }
  set_deadline(report.job, job);
}

void Suspicions::progressed(const ProgressReported& progress, Instant now) {
  const auto found = jobs_.find(progress.job);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (job.done == progress.done) return;
  job.done = progress.done;
  for (Watched& worker : job.workers) worker.sign_of_life = now;
  set_deadline(progress.job, job);
}

void Suspicions::profiled(const ProfilingChanged& measured,
                          Instant now,
                          std::vector<EventBody>& edges) {
  const auto found = jobs_.find(measured.job);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (measured.rank.is_none()) {
    for (Watched& worker : job.workers)
      if (worker.generation == measured.generation) worker.sign_of_life = now;
    return set_deadline(measured.job, job);
  }
  Watched* worker = by_present(job, measured.generation, measured.rank);
  if (worker == nullptr) return;
  worker->sign_of_life = now;
  set_deadline(measured.job, job);
  for (const ProfilingValue& value : measured.values) {
    if (value.key != "step_time_s" || !(value.value > 0)) continue;
    worker->step_time = value.value;
    look_for_stragglers(measured.job, job, *worker, edges);
    return;
  }
}

void Suspicions::look_for_stragglers(JobId id,
                                     Job& job,
                                     const Watched& measured,
                                     std::vector<EventBody>& edges) {
  if (job.straggler_factor <= 0) return;
  std::vector<RankStepTime> latest;
  std::vector<Watched*> of_role;
  for (Watched& worker : job.workers) {
    if (worker.role != measured.role || worker.generation != measured.generation ||
        worker.step_time <= 0)
      continue;
    latest.push_back({worker.rank, worker.step_time});
    of_role.push_back(&worker);
  }
  for (const std::size_t i : stragglers(latest, job.straggler_factor)) {
    if (of_role[i]->told_slow) continue;
    of_role[i]->told_slow = true;
    edges.push_back(edge_of(id, *of_role[i], Suspicion::Straggling));
  }
}

void Suspicions::time_reached(Instant now, std::vector<EventBody>& edges) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const JobId id = deadlines_.begin()->second;
    Job& job = jobs_.at(id);
    for (Watched& worker : job.workers) {
      if (!worker.ready || worker.told_hung || worker.sign_of_life + job.hang_after > now) continue;
      worker.told_hung = true;
      edges.push_back(edge_of(id, worker, Suspicion::Hung));
    }
    set_deadline(id, job);
  }
}

Instant Suspicions::next_deadline() const {
  return deadlines_.empty() ? Instant::never() : deadlines_.begin()->first;
}

void Suspicions::set_deadline(JobId id, Job& job) {
  Instant deadline = Instant::never();
  if (!job.hang_after.is_forever())
    for (const Watched& worker : job.workers)
      if (worker.ready && !worker.told_hung)
        deadline = std::min(deadline, worker.sign_of_life + job.hang_after);
  if (deadline == job.deadline) return;
  if (!job.deadline.is_never()) deadlines_.erase({job.deadline, id});
  job.deadline = deadline;
  if (!deadline.is_never()) deadlines_.insert({deadline, id});
}

Suspicions::Watched* Suspicions::by_present(Job& job, Generation generation, Rank rank) {
  for (Watched& worker : job.workers)
    if (worker.generation == generation && worker.rank == rank) return &worker;
  return nullptr;
}

Suspicions::Watched* Suspicions::by_birth(Job& job,
                                          Generation born,
                                          Incarnation incarnation,
                                          Rank birth_rank) {
  for (Watched& worker : job.workers)
    if (worker.incarnation == incarnation && worker.birth_rank == birth_rank && worker.born == born)
      return &worker;
  return nullptr;
}

WorkerSuspected Suspicions::edge_of(JobId id, const Watched& worker, Suspicion suspicion) {
  return {id, worker.born, worker.incarnation, worker.birth_rank, suspicion};
}

// The set of deadlines follows from the jobs.
void Suspicions::save(ByteWriter& out) const {
  Encoder encoder(out);
  out.varint(jobs_.size());
  for (const auto& [id, job] : jobs_) {
    encoder.put(id);
    encoder.put(job.hang_after);
    encoder.put(job.straggler_factor);
    encoder.put(job.done);
    encoder.put(job.workers);
    encoder.put(job.deadline);
  }
}

}  // namespace orrery
