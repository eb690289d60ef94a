#include "sim/judging/expectations.hpp"

#include <algorithm>
#include <cstdio>

namespace orrery::sim {
namespace {

using scenarios::Expectation;

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kIgnoredReasons = EnumNames<Ignored>::kNames.size();

std::string seconds(Instant at) {
  if (at.is_never()) return "the end";
  char text[48];
  std::snprintf(text, sizeof text, "%.6g s", at.in_seconds());
  return text;
}

std::string seconds(Duration time) { return seconds(Instant{time.ns}); }

std::string window(const Expectation& expected) {
  if (expected.by.is_never()) return "at the end";
  if (expected.after == Instant::zero()) return "by " + seconds(expected.by);
  return "between " + seconds(expected.after) + " and " + seconds(expected.by);
}

std::string text_of(JobPhase phase) { return std::string(to_string(phase)); }

std::string text_of(std::int32_t count) { return std::to_string(count); }

/// Whether `wanted` held at some instant of the window; with no end, whether it held last.
template <class Changes, class T>
bool held(const Changes& changes, const T& wanted, const Expectation& expected) {
  if (changes.empty()) return false;
  if (expected.by.is_never()) return changes.back().to == wanted;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!(changes[i].to == wanted) || changes[i].at > expected.by) continue;
    const bool lasted_into = i + 1 == changes.size() || changes[i + 1].at >= expected.after;
    if (lasted_into) return true;
  }
  return false;
}

/// What held, for the message: the values of the window, or the last one.
template <class Changes>
std::string seen(const Changes& changes, const Expectation& expected) {
  if (changes.empty()) return "nothing";
  if (expected.by.is_never()) return text_of(changes.back().to);
  std::string text;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool before = i + 1 < changes.size() && changes[i + 1].at < expected.after;
    if (before || changes[i].at > expected.by) continue;
    text += (text.empty() ? "" : ", ") + text_of(changes[i].to);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

ExpectationJudge::ExpectationJudge(const scenarios::Scenario& scenario)
    : file_(scenario.file), expectations_(scenario.expectations), ignored_(kIgnoredReasons) {
  for (const Expectation& expected : expectations_) {
    if (expected.job.empty() || watched(expected.job) != nullptr) continue;
    Watched& job = watched_.emplace_back();
    job.name = expected.job;
    job.ignored.resize(kIgnoredReasons);
  }
}

const ExpectationJudge::Watched* ExpectationJudge::watched(std::string_view name) const {
  for (const Watched& job : watched_)
    if (job.name == name) return &job;
  return nullptr;
}

void ExpectationJudge::on_job(JobId job, std::string_view name, Instant submitted) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i].name != name) continue;
    if (job.index() >= index_of_job_.size()) index_of_job_.resize(job.index() + 1, kNone);
    index_of_job_[job.index()] = static_cast<std::uint32_t>(i);
    watched_[i].submitted = true;
    watched_[i].submitted_at = submitted;
  }
}

void ExpectationJudge::on_notice(const Notice& notice) {
  if (notice.kind == NoticeKind::PhaseChanged) {
    finished_ += notice.to == JobPhase::Succeeded ? 1 : 0;
    failed_ += notice.to == JobPhase::Failed ? 1 : 0;
  } else if (notice.kind == NoticeKind::IgnoredReport) {
    ++ignored_[static_cast<std::size_t>(notice.ignored)];
  }
  if (notice.job.is_none() || notice.job.index() >= index_of_job_.size()) return;
  const std::uint32_t index = index_of_job_[notice.job.index()];
  if (index == kNone) return;
  Watched& job = watched_[index];
  job.generation = std::max(job.generation, notice.generation.value);
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      job.phases.push_back({notice.at, notice.to});
      job.reason = notice.reason;
      break;
    case NoticeKind::Allocated:
      job.replicas.push_back({notice.at, notice.count});
      if (job.allocated_at.is_never() && notice.count > 0) job.allocated_at = notice.at;
      break;
    case NoticeKind::Counted:
      job.counters[static_cast<std::size_t>(notice.counter)] =
          static_cast<std::uint32_t>(notice.count);
      break;
    case NoticeKind::IgnoredReport:
      ++job.ignored[static_cast<std::size_t>(notice.ignored)];
      break;
    case NoticeKind::GrantDropped:
    case NoticeKind::GrantClipped:
    case NoticeKind::NodeChanged:
    case NoticeKind::WorkersReported:
    case NoticeKind::IncidentOpened:
    case NoticeKind::IncidentClosed:
    case NoticeKind::WorkerRestarted:
    case NoticeKind::WorkLost:
      break;
  }
}

void ExpectationJudge::judge_state(const Expectation& expected, const Watched& job, Findings& out) {
  if (expected.phase && !held(job.phases, *expected.phase, expected))
    out.push_back("phase was " + seen(job.phases, expected) + ", expected " +
                  text_of(*expected.phase) + " " + window(expected));
  if (expected.replicas && !held(job.replicas, *expected.replicas, expected))
    out.push_back("replicas were " + seen(job.replicas, expected) + ", expected " +
                  text_of(*expected.replicas) + " " + window(expected));
  if (expected.reason && *expected.reason != job.reason)
    out.push_back("the last reason was " + std::string(to_string(job.reason)) + ", expected " +
                  std::string(to_string(*expected.reason)));
  const bool started = !job.allocated_at.is_never();
  const Duration waited = started ? job.allocated_at - job.submitted_at : Duration::forever();
  if (expected.waited_less_than && waited >= *expected.waited_less_than)
    out.push_back("waited " + (started ? seconds(waited) : "until the end") +
                  ", expected less than " + seconds(*expected.waited_less_than));
}

void ExpectationJudge::judge_counters(const Expectation& expected,
                                      const Watched& job,
                                      Findings& out) {
  const auto compare =
      [&](const std::optional<std::uint32_t>& wanted, const char* what, std::uint32_t found) {
        if (wanted && *wanted != found)
          out.push_back(what + std::to_string(found) + ", expected " + std::to_string(*wanted));
      };
  const auto counted = [&](Counter which) { return job.counters[static_cast<std::size_t>(which)]; };
  compare(expected.restarts, "restarts were ", counted(Counter::Restarts));
  compare(expected.reschedules, "reschedules were ", counted(Counter::Reschedules));
  compare(expected.preemptions, "preemptions were ", counted(Counter::Preemptions));
  compare(expected.node_losses, "node losses were ", counted(Counter::NodeLosses));
  compare(expected.generation, "generation was ", job.generation);
  if (!expected.ignored) return;
  const std::int64_t found = job.ignored[static_cast<std::size_t>(*expected.ignored)];
  if (found < expected.at_least)
    out.push_back(std::to_string(found) + " reports were ignored as " +
                  std::string(to_string(*expected.ignored)) + ", expected at least " +
                  std::to_string(expected.at_least));
}

void ExpectationJudge::judge_story(const Expectation& expected, const Watched& job, Findings& out) {
  if (expected.phases.empty()) return;
  std::string found;
  for (const auto& change : job.phases) found += (found.empty() ? "" : ", ") + text_of(change.to);
  std::string wanted;
  for (JobPhase phase : expected.phases) wanted += (wanted.empty() ? "" : ", ") + text_of(phase);
  if (found != wanted)
    out.push_back("phases were " + (found.empty() ? "none" : found) + ", expected " + wanted);
}

void ExpectationJudge::judge_run(const Expectation& expected, Findings& out) const {
  if (expected.jobs_finished && *expected.jobs_finished != finished_)
    out.push_back(std::to_string(finished_) + " jobs finished, expected " +
                  std::to_string(*expected.jobs_finished));
  if (expected.jobs_failed && *expected.jobs_failed != failed_)
    out.push_back(std::to_string(failed_) + " jobs failed, expected " +
                  std::to_string(*expected.jobs_failed));
  if (!expected.ignored || !expected.job.empty()) return;
  const std::int64_t found = ignored_[static_cast<std::size_t>(*expected.ignored)];
  if (found < expected.at_least)
    out.push_back(std::to_string(found) + " reports were ignored as " +
                  std::string(to_string(*expected.ignored)) + ", expected at least " +
                  std::to_string(expected.at_least));
}

std::vector<std::string> ExpectationJudge::unmet() const {
  std::vector<std::string> texts;
  for (const Expectation& expected : expectations_) {
    const std::string place = file_ + ":" + std::to_string(expected.line) + ": ";
    Findings of_run;
    judge_run(expected, of_run);
    for (const std::string& finding : of_run) texts.push_back(place + "run: " + finding);
    if (expected.job.empty()) continue;
    Findings of_job;
    if (const Watched* job = watched(expected.job); job->submitted) {
      judge_state(expected, *job, of_job);
      judge_counters(expected, *job, of_job);
      judge_story(expected, *job, of_job);
    } else {
      of_job.emplace_back("was never submitted, expected to be");
    }
    for (const std::string& finding : of_job)
      texts.push_back(place + "job " + expected.job + ": " + finding);
  }
  return texts;
}

}  // namespace orrery::sim
