#include "tools/orrery/what_if_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>

#include "core/base/json_text.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

using sim::JobDifference;
using sim::JobOutcome;

/// How much later, in seconds; nothing where either has no such instant.
std::optional<double> later(const JobDifference& job, Instant JobOutcome::*what) {
  if (job.recorded == nullptr || job.now == nullptr) return std::nullopt;
  const Instant then = job.recorded->*what;
  const Instant now = job.now->*what;
  if (then.is_never() || now.is_never()) return std::nullopt;
  return (now - then).in_seconds();
}

bool has(const JobOutcome* job, JobPhase phase) { return job != nullptr && job->phase == phase; }

/// How much later a job completes; nothing where it did not, or does not.
std::optional<double> completes_later(const JobDifference& job) {
  const bool both = has(job.recorded, JobPhase::Succeeded) && has(job.now, JobPhase::Succeeded);
  return both ? later(job, &JobOutcome::finished) : std::nullopt;
}

std::string change_text(std::optional<double> seconds) {
  if (!seconds) return "-";
  if (std::abs(*seconds) < 0.0005) return "0";
  return (*seconds > 0 ? "+" : "") + with_commas(*seconds, std::abs(*seconds) < 10 ? 3 : 1);
}

std::string after_text(const JobOutcome* job, Instant JobOutcome::*what, bool submitted = true) {
  if (job == nullptr) return submitted ? "refused" : "not submitted";
  if ((job->*what).is_never()) return "never";
  return with_commas((job->*what - job->submitted).in_seconds(), 1);
}

std::string end_text(const JobOutcome* job, bool submitted = true) {
  return (has(job, JobPhase::Failed) ? "failed after " : "") +
         after_text(job, &JobOutcome::finished, submitted);
}

std::string restarts_text(const JobDifference& job) {
  const auto of = [](const JobOutcome* outcome) {
    return outcome == nullptr ? std::string("-")
                              : std::to_string(outcome->restarts + outcome->reschedules);
  };
  return of(job.recorded) + " > " + of(job.now);
}

/// How much a job's completion has changed, for the order of the table; most where it came to none.
double weight_of(const JobDifference& job) {
  if (const auto change = completes_later(job)) return std::abs(*change);
  const bool was = has(job.recorded, JobPhase::Succeeded);
  return was == has(job.now, JobPhase::Succeeded) ? 0 : 1e18;
}

struct Counts {
  std::uint64_t sooner = 0;
  std::uint64_t same = 0;
  std::uint64_t later = 0;
  std::uint64_t newly_failed = 0;      ///< They fail, and did not.
  std::uint64_t no_longer_failed = 0;  ///< They failed, and complete.
};

Counts counts_of(const WhatIfTold& told) {
  Counts out;
  for (const JobDifference& job : told.jobs) {
    if (has(job.now, JobPhase::Failed) && job.recorded != nullptr &&
        job.recorded->phase != JobPhase::Failed)
      ++out.newly_failed;
    if (has(job.recorded, JobPhase::Failed) && has(job.now, JobPhase::Succeeded))
      ++out.no_longer_failed;
    const auto change = completes_later(job);
    if (!change) continue;
    ++(*change < 0 ? out.sooner : *change > 0 ? out.later : out.same);
  }
  return out;
}

void put_instant(JsonText& json,
                 std::string_view key,
                 const JobOutcome* job,
                 Instant JobOutcome::*what) {
  if (job == nullptr || (job->*what).is_never())
    json.key(key).null();
  else
    json.field(key, (job->*what).in_seconds());
}

void put_outcome(JsonText& json, std::string_view key, const JobOutcome* job) {
  json.key(key);
  if (job == nullptr) {
    json.null();
    return;
  }
  json.begin_object();
  json.field("submitted_s", job->submitted.in_seconds());
  put_instant(json, "started_s", job, &JobOutcome::started);
  put_instant(json, "completed_s", job, &JobOutcome::finished);
  json.field("phase", to_string(job->phase));
  json.field("restarts", std::uint64_t{job->restarts});
  json.field("reschedules", std::uint64_t{job->reschedules});
  json.field("preemptions", std::uint64_t{job->preemptions});
  json.end_object();
}

void put_change(JsonText& json, std::string_view key, std::optional<double> change) {
  if (change)
    json.field(key, *change);
  else
    json.key(key).null();
}

void put_jobs(JsonText& json, const WhatIfTold& told) {
  json.key("jobs").begin_array();
  for (const JobDifference& job : told.jobs) {
    json.begin_object().field("name", job.name).field("work_known", to_string(job.known));
    json.field("sizes_assumed", job.sizes_assumed);
    put_outcome(json, "recorded", job.recorded);
    put_outcome(json, "what_if", job.now);
    json.field("submitted", job.submitted);
    put_change(json, "start_change_s", later(job, &JobOutcome::started));
    put_change(json, "completion_change_s", completes_later(job));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::vector<std::string> what_if_remarks(const sim::RecordedBasis& rehearsal) {
  std::vector<std::string> out;
  std::map<sim::WorkKnown, std::uint64_t> counts;
  std::uint64_t assumed = 0;
  for (std::size_t k = 0; k < rehearsal.truth.jobs.size(); ++k) {
    if (rehearsal.recorded.jobs[k].id.is_none()) continue;
    const sim::JobTruth& truth = rehearsal.truth.jobs[k];
    ++counts[truth.known];
    assumed += truth.sizes_assumed ? 1 : 0;
  }
  const auto say = [&](std::uint64_t count, const std::string& what) {
    if (count > 0) out.push_back(std::to_string(count) + (count == 1 ? " job " : " jobs ") + what);
  };
  say(counts[sim::WorkKnown::Averaged],
      "changed speed at one size: work is from the mean of each size (averaged)");
  say(counts[sim::WorkKnown::Timed],
      "told of no progress: work is the time that workers ran (timed)");
  say(counts[sim::WorkKnown::Reported],
      "did not come to an end: work is what was reported as remaining (reported)");
  say(counts[sim::WorkKnown::Stated],
      "did not come to an end: work is the run time that was stated (stated)");
  say(counts[sim::WorkKnown::History],
      "did not come to an end: work is the median of like jobs (history)");
  say(counts[sim::WorkKnown::Nothing],
      "did not come to an end, and no other did: work is a guess (nothing)");
  say(assumed, "may have sizes that were not seen: speed there is extrapolated");
  for (const sim::Assumption& each : rehearsal.truth.assumed) out.push_back(each.sentence);
  out.insert(out.end(), rehearsal.recorded.left_out.begin(), rehearsal.recorded.left_out.end());
  return out;
}

std::string what_if_table(const WhatIfTold& told, const ConsoleTraits& traits) {
  std::vector<const JobDifference*> order;
  for (const JobDifference& job : told.jobs) order.push_back(&job);
  std::ranges::stable_sort(order, [](const JobDifference* a, const JobDifference* b) {
    return weight_of(*a) > weight_of(*b);
  });
  if (order.size() > kWhatIfJobsShown) order.resize(kWhatIfJobsShown);
  Table table({{.title = "job", .left = true},
               {.title = "waited (s)", .spare = 3},
               {.title = "what-if"},
               {.title = "change"},
               {.title = "completed after (s)", .spare = 2},
               {.title = "what-if"},
               {.title = "change"},
               {.title = "restarts", .spare = 4},
               {.title = "work is", .left = true, .spare = 1}});
  for (const JobDifference* job : order)
    table.add_row({{.text = job->name},
                   {.text = after_text(job->recorded, &JobOutcome::started)},
                   {.text = after_text(job->now, &JobOutcome::started, job->submitted)},
                   {.text = change_text(later(*job, &JobOutcome::started))},
                   {.text = end_text(job->recorded)},
                   {.text = end_text(job->now, job->submitted)},
                   {.text = change_text(completes_later(*job))},
                   {.text = restarts_text(*job)},
                   {.text = std::string(to_string(job->known))}});
  return table.text(traits.colour, traits.table_width());
}

std::string what_if_counts(const WhatIfTold& told) {
  const Counts counts = counts_of(told);
  std::string out = std::to_string(counts.sooner) + " jobs complete sooner than recorded, " +
                    std::to_string(counts.later) + " later, " + std::to_string(counts.same) +
                    " at the same instant";
  if (counts.newly_failed > 0)
    out += "; " + std::to_string(counts.newly_failed) + " fail that did not";
  if (counts.no_longer_failed > 0)
    out += "; " + std::to_string(counts.no_longer_failed) + " complete that failed";
  return out + "\n";
}

std::string what_if_json(const sim::RecordedBasis& rehearsal,
                         const std::vector<WhatIfTold>& all,
                         sim::MeasuredAs measured) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("recorded");
  sim::put_summary(rehearsal.recorded.summary, measured, json);
  json.key("assumed").begin_array();
  for (const std::string& sentence : what_if_remarks(rehearsal)) json.value(sentence);
  json.end_array().key("what_if").begin_array();
  for (const WhatIfTold& told : all) {
    json.begin_object().key("summary");
    sim::put_summary(told.run.report.summary, measured, json);
    const Counts counts = counts_of(told);
    json.field("jobs_sooner", counts.sooner).field("jobs_later", counts.later);
    json.field("jobs_same", counts.same).field("jobs_newly_failed", counts.newly_failed);
    json.field("jobs_no_longer_failed", counts.no_longer_failed).key("remarks").begin_array();
    for (const std::string& remark : told.remarks) json.value(remark);
    json.end_array();
    put_jobs(json, told);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace orrery::cli
