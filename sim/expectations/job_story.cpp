#include "sim/expectations/job_story.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace orrery::sim {
namespace {

using scenarios::Expectation;
using Findings = std::vector<std::string>;

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

std::string number(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string text_of(std::int32_t count) { return std::to_string(count); }

const std::string& text_of(const std::string& message) { return message; }

/// Equal to every text that it is a part of.
struct Part {
  std::string_view text;

  friend bool operator==(const std::string& whole, const Part& part) {
    return whole.find(part.text) != std::string::npos;
  }
};

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

void judge_state(const Expectation& expected, const JobStory& job, Findings& out) {
  if (expected.phase && !held(job.phases, *expected.phase, expected))
    out.push_back("phase was " + seen(job.phases, expected) + ", expected " +
                  text_of(*expected.phase) + " " + window(expected));
  if (expected.replicas && !held(job.replicas, *expected.replicas, expected))
    out.push_back("replicas were " + seen(job.replicas, expected) + ", expected " +
                  text_of(*expected.replicas) + " " + window(expected));
  if (expected.reason && *expected.reason != job.reason)
    out.push_back("the last reason was " + std::string(to_string(job.reason)) + ", expected " +
                  std::string(to_string(*expected.reason)));
  if (!expected.says.empty() && !held(job.messages, Part{expected.says}, expected))
    out.push_back("it said '" + (job.messages.empty() ? "" : seen(job.messages, expected)) +
                  "', expected '" + expected.says + "' in it");
  const bool started = !job.allocated_at.is_never();
  const Duration waited = started ? job.allocated_at - job.submitted_at : Duration::forever();
  if (expected.waited_less_than && waited >= *expected.waited_less_than)
    out.push_back("waited " + (started ? seconds(waited) : "until the end") +
                  ", expected less than " + seconds(*expected.waited_less_than));
}

void judge_counters(const Expectation& expected, const JobStory& job, Findings& out) {
  const auto compare =
      [&](const std::optional<std::uint32_t>& wanted, const char* what, std::uint32_t found) {
        if (wanted && *wanted != found)
          out.push_back(what + std::to_string(found) + ", expected " + std::to_string(*wanted));
      };
  const auto counted = [&](Counter which) { return job.counters[static_cast<std::size_t>(which)]; };
  compare(expected.restarts, "restarts were ", counted(Counter::Restarts));
  compare(expected.role_restarts, "restarts of roles were ", counted(Counter::RoleRestarts));
  compare(expected.job_restarts, "restarts of the job were ", counted(Counter::JobRestarts));
  compare(expected.reschedules, "reschedules were ", counted(Counter::Reschedules));
  compare(expected.preemptions, "preemptions were ", counted(Counter::Preemptions));
  compare(expected.node_losses, "node losses were ", counted(Counter::NodeLosses));
  compare(expected.generation, "generation was ", job.generation);
}

void judge_workers(const Expectation& expected, const JobStory& job, Findings& out) {
  const auto restarts = [&](const scenarios::WorkerName& worker) {
    return job.recoveries.restarts_of(worker.role, worker.local_rank);
  };
  for (const scenarios::WorkerName& worker : expected.restarted)
    if (restarts(worker) == 0)
      out.push_back("worker " + worker.text + " was never started again, expected to be");
  for (const scenarios::WorkerName& worker : expected.not_restarted)
    if (restarts(worker) > 0)
      out.push_back("worker " + worker.text + " was started again " +
                    std::to_string(restarts(worker)) + " times, expected never");
  for (const auto& [worker, wanted] : expected.worker_restarts)
    if (restarts(worker) != wanted)
      out.push_back("worker " + worker.text + " was started again " +
                    std::to_string(restarts(worker)) + " times, expected " +
                    std::to_string(wanted));
  if (expected.untouched && (job.recoveries.worker_restarts() > 0 || job.generation > 1))
    out.push_back("workers were started again " + std::to_string(job.recoveries.worker_restarts()) +
                  " times in " + std::to_string(job.generation) +
                  " generations, expected untouched");
  if (expected.lost_work_less_than && job.recoveries.lost_work() >= *expected.lost_work_less_than)
    out.push_back("lost work was " + number(job.recoveries.lost_work()) + ", expected less than " +
                  number(*expected.lost_work_less_than));
}

void judge_phases(const Expectation& expected, const JobStory& job, Findings& out) {
  if (expected.phases.empty()) return;
  std::string found;
  for (const auto& change : job.phases) found += (found.empty() ? "" : ", ") + text_of(change.to);
  std::string wanted;
  for (JobPhase phase : expected.phases) wanted += (wanted.empty() ? "" : ", ") + text_of(phase);
  if (found != wanted)
    out.push_back("phases were " + (found.empty() ? "none" : found) + ", expected " + wanted);
}

}  // namespace

void JobStory::hear(Instant at, std::string message) {
  if (messages.empty() || messages.back().to != message)
    messages.push_back({at, std::move(message)});
}

void JobStory::on_notice(const Notice& notice) {
  generation = std::max(generation, notice.generation.value);
  recoveries.on_notice(notice);
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      phases.push_back({notice.at, notice.to});
      reason = notice.reason;
      break;
    case NoticeKind::Allocated:
      replicas.push_back({notice.at, notice.count});
      if (allocated_at.is_never() && notice.count > 0) allocated_at = notice.at;
      break;
    case NoticeKind::Counted:
      counters[static_cast<std::size_t>(notice.counter)] = static_cast<std::uint32_t>(notice.count);
      break;
    case NoticeKind::IgnoredReport:
      ++ignored[static_cast<std::size_t>(notice.ignored)];
      break;
    case NoticeKind::GrantDropped:
    case NoticeKind::GrantClipped:
    case NoticeKind::PlanLost:
    case NoticeKind::PolicyChosen:
    case NoticeKind::NodeChanged:
    case NoticeKind::WorkersReported:
    case NoticeKind::IncidentOpened:
    case NoticeKind::IncidentClosed:
    case NoticeKind::WorkerRestarted:
    case NoticeKind::WorkerSuspected:
    case NoticeKind::WorkLost:
      break;
  }
}

std::vector<std::string> findings_of(const Expectation& expected, const JobStory& job) {
  if (!job.submitted) return {"was never submitted, expected to be"};
  Findings out;
  judge_state(expected, job, out);
  judge_counters(expected, job, out);
  judge_workers(expected, job, out);
  if (std::string found = job.seats.finding(expected); !found.empty())
    out.push_back(std::move(found));
  judge_recoveries(expected,
                   job.recoveries,
                   job.counters[static_cast<std::size_t>(Counter::NodesRelaunched)],
                   out);
  if (expected.ignored)
    judge_ignored(expected, job.ignored[static_cast<std::size_t>(*expected.ignored)], out);
  judge_phases(expected, job, out);
  return out;
}

void judge_recoveries(const Expectation& expected,
                      const RecoveryRecord& recoveries,
                      std::uint32_t nodes_relaunched,
                      Findings& out) {
  const auto found = static_cast<std::int32_t>(recoveries.incidents().size());
  if (expected.incidents && *expected.incidents != found)
    out.push_back("incidents were " + std::to_string(found) + ", expected " +
                  std::to_string(*expected.incidents));
  for (const auto& [cause, wanted] : expected.incidents_of)
    if (const std::int32_t count = recoveries.incidents_of(cause); count != wanted)
      out.push_back("incidents with cause " + std::string(to_string(cause)) + " were " +
                    std::to_string(count) + ", expected " + std::to_string(wanted));
  const auto time = [](Duration took) {
    return took.is_forever() ? std::string("without an end") : seconds(took);
  };
  const auto limit = [&](const std::optional<Duration>& wanted, std::string what, bool met) {
    if (!wanted || (met && found > 0)) return;
    out.push_back(found == 0 ? "there was no incident, expected one and its recovery"
                             : std::move(what) + seconds(*wanted));
  };
  const Duration mean = recoveries.mean_time_to_recovery();
  const Duration longest = recoveries.longest_recovery();
  limit(expected.mttr_less_than,
        "the mean time to recovery was " + time(mean) + ", expected less than ",
        !expected.mttr_less_than || mean < *expected.mttr_less_than);
  limit(expected.recovered_within,
        "the longest recovery was " + time(longest) + ", expected ",
        !expected.recovered_within || longest <= *expected.recovered_within);
  if (expected.nodes_relaunched && *expected.nodes_relaunched != nodes_relaunched)
    out.push_back("nodes relaunched were " + std::to_string(nodes_relaunched) + ", expected " +
                  std::to_string(*expected.nodes_relaunched));
}

void judge_ignored(const Expectation& expected, std::int64_t found, Findings& out) {
  if (!expected.ignored || found >= expected.at_least) return;
  out.push_back(std::to_string(found) + " reports were ignored as " +
                std::string(to_string(*expected.ignored)) + ", expected at least " +
                std::to_string(expected.at_least));
}

}  // namespace orrery::sim
