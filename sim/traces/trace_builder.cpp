#include "sim/traces/trace_builder.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

bool TraceBuilder::row(std::string_view row) {
  ++report_.rows;
  return rows_.insert(row).second || !drops(TraceReason::ExactDuplicate, options_.duplicates);
}

bool TraceBuilder::drops(TraceReason reason, OddRows choice) {
  const bool drop = choice == OddRows::Drop;
  report_.count(reason, drop ? TraceAction::Dropped : TraceAction::Kept);
  return drop;
}

void TraceBuilder::make_unique(std::string& name) {
  int use = ++names_[name];
  if (use == 1) return;
  altered(TraceReason::NameUsedBefore);
  std::string numbered;
  do {
    numbered = name + "-" + std::to_string(use++);
  } while (!names_.emplace(numbered, 1).second);
  names_[name] = use - 1;
  name = std::move(numbered);
}

void TraceBuilder::take(TraceJob job, std::optional<Instant> open_since) {
  job.censored = job.censored || open_since.has_value();
  if (job.censored && drops(TraceReason::Censored, options_.censored)) return;
  if (job.gpus == 0 && drops(TraceReason::ZeroGpus, options_.zero_gpus)) return;
  const Duration longest = std::max(job.duration, job.waited.value_or(Duration::zero()));
  if (longest > kTraceDurationMax) {
    altered(TraceReason::TooLong);
    job.duration = std::min(job.duration, kTraceDurationMax);
    if (job.waited) job.waited = std::min(*job.waited, kTraceDurationMax);
  }
  if (job.name.empty()) job.name = "row-" + std::to_string(report_.rows);
  make_unique(job.name);
  if (open_since) open_.push_back({jobs_.size(), *open_since});
  jobs_.push_back(std::move(job));
}

Result<Trace> TraceBuilder::finish() {
  if (!errors_.empty()) return errors_.take();
  for (const OpenJob& open : open_)
    jobs_[open.job].duration = std::min(last_mentioned_ - open.start, kTraceDurationMax);
  for (TraceJob& job : jobs_) {
    if (job.duration >= Duration::seconds(1)) continue;
    altered(TraceReason::ZeroDuration);
    job.duration = Duration::seconds(1);
  }
  return finish_trace(std::move(jobs_), std::move(report_));
}

void set_gpus(TraceJob& job, int instances, std::int64_t milli) {
  job.instances = instances;
  job.gpu_milli = milli * instances;
  job.gpus = static_cast<int>((milli + 999) / 1000) * instances;
}

}  // namespace orrery::sim
