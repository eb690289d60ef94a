#include "sim/expectations/expectations.hpp"

#include <algorithm>

#include "core/control/status.hpp"

namespace orrery::sim {
namespace {

using scenarios::Expectation;

constexpr std::uint32_t kNone = UINT32_MAX;

std::string list_of(const std::set<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value);
  return text.empty() ? "none" : text;
}

}  // namespace

ExpectationJudge::ExpectationJudge(const scenarios::Scenario& scenario)
    : file_(scenario.file), expectations_(scenario.expectations) {
  for (const Expectation& expected : expectations_) {
    if (expected.job.empty()) continue;
    auto job = std::find_if(watched_.begin(), watched_.end(), [&](const JobStory& story) {
      return story.name == expected.job;
    });
    if (job == watched_.end()) job = watched_.insert(job, JobStory{.name = expected.job});
    job->listened_to = job->listened_to || !expected.says.empty();
    job->overheard = job->overheard || (!expected.says.empty() && !expected.by.is_never());
    job->followed = job->followed || !expected.sits.empty();
  }
}

JobStory* ExpectationJudge::watched(JobId job) {
  if (job.is_none() || job.index() >= index_of_job_.size()) return nullptr;
  const std::uint32_t index = index_of_job_[job.index()];
  return index == kNone ? nullptr : &watched_[index];
}

void ExpectationJudge::on_job(JobId job, std::string_view name, Instant submitted) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i].name != name) continue;
    if (job.index() >= index_of_job_.size()) index_of_job_.resize(job.index() + 1, kNone);
    index_of_job_[job.index()] = static_cast<std::uint32_t>(i);
    watched_[i].id = job;
    watched_[i].submitted = true;
    watched_[i].submitted_at = submitted;
  }
}

void ExpectationJudge::on_node(const Notice& notice) {
  switch (notice.change) {
    case NodeChange::Excluded:
      excluded_.insert(notice.node);
      return;
    case NodeChange::Included:
      excluded_.erase(notice.node);
      return;
    case NodeChange::Relaunched:
      ++relaunched_;
      return;
    case NodeChange::SpareUsed:
      ++spares_used_;
      return;
    case NodeChange::Silent:
    case NodeChange::Returned:
    case NodeChange::Leaving:
    case NodeChange::DeviceLost:
    case NodeChange::SpareAgain:
    case NodeChange::HeldForCheck:
      return;
  }
}

void ExpectationJudge::on_notice(const Notice& notice) {
  if (notice.kind == NoticeKind::PhaseChanged) {
    finished_ += notice.to == JobPhase::Succeeded ? 1 : 0;
    failed_ += notice.to == JobPhase::Failed ? 1 : 0;
  } else if (notice.kind == NoticeKind::IgnoredReport) {
    ++ignored_[static_cast<std::size_t>(notice.ignored)];
  } else if (notice.kind == NoticeKind::NodeChanged) {
    on_node(notice);
  }
  recoveries_.on_notice(notice);
  if (JobStory* job = watched(notice.job)) job->on_notice(notice);
}

void ExpectationJudge::on_notices(std::span<const Notice> notices, const State& state) {
  epoch_ = std::max(epoch_, state.epoch);
  sequence_ = state.sequence;
  for (const Notice& notice : notices) {
    on_notice(notice);
    JobStory* job = watched(notice.job);
    if (job == nullptr || (!job->listened_to && !job->followed)) continue;
    const JobState* known = state.find(notice.job);
    if (known == nullptr) continue;
    if (job->followed) job->seats.note(notice.at, *known);
    if (job->listened_to && notice.kind == NoticeKind::PhaseChanged)
      job->hear(notice.at, status_of(state, *known).message);
  }
  for (JobStory& job : watched_)
    if (const JobState* known = job.overheard && job.submitted ? state.find(job.id) : nullptr)
      job.hear(state.now, status_of(state, *known).message);
}

void ExpectationJudge::on_fault(std::uint32_t index, Instant at) {
  strikes_.try_emplace(index, at);
}

bool ExpectationJudge::place_window(Expectation& expected, std::string& finding) const {
  if (!expected.after_fault) return true;
  const auto strike = strikes_.find(*expected.after_fault);
  if (strike == strikes_.end()) {
    finding = "the fault that it follows never struck, expected to";
    return false;
  }
  expected.after = strike->second;
  if (!expected.within.is_forever()) expected.by = expected.after + expected.within;
  return true;
}

std::vector<std::string> ExpectationJudge::run_findings(const Expectation& expected) const {
  std::vector<std::string> out;
  if (expected.jobs_finished && *expected.jobs_finished != finished_)
    out.push_back(std::to_string(finished_) + " jobs finished, expected " +
                  std::to_string(*expected.jobs_finished));
  if (expected.jobs_failed && *expected.jobs_failed != failed_)
    out.push_back(std::to_string(failed_) + " jobs failed, expected " +
                  std::to_string(*expected.jobs_failed));
  if (expected.no_worker_restarted && recoveries_.worker_restarts() > 0)
    out.push_back("workers were started again " + std::to_string(recoveries_.worker_restarts()) +
                  " times, expected never");
  if (expected.excluded) {
    const std::set<NodeId> wanted(expected.excluded->begin(), expected.excluded->end());
    if (wanted != excluded_)
      out.push_back("excluded nodes were " + list_of(excluded_) + ", expected " + list_of(wanted));
  }
  if (expected.spares_used && *expected.spares_used != spares_used_)
    out.push_back("spare nodes used were " + std::to_string(spares_used_) + ", expected " +
                  std::to_string(*expected.spares_used));
  if (expected.epochs && *expected.epochs != epoch_.value)
    out.push_back("epochs were " + std::to_string(epoch_.value) + ", expected " +
                  std::to_string(*expected.epochs));
  if (expected.events_at_most && sequence_.value > *expected.events_at_most)
    out.push_back("events were " + std::to_string(sequence_.value) + ", expected at most " +
                  std::to_string(*expected.events_at_most));
  if (!expected.job.empty()) return out;
  judge_recoveries(expected, recoveries_, relaunched_, out);
  if (expected.ignored)
    judge_ignored(expected, ignored_[static_cast<std::size_t>(*expected.ignored)], out);
  return out;
}

std::vector<std::string> ExpectationJudge::unmet() const {
  std::vector<std::string> texts;
  for (Expectation expected : expectations_) {
    const std::string place =
        file_ + (expected.line > 0 ? ":" + std::to_string(expected.line) : "") + ": ";
    for (const std::string& finding : run_findings(expected))
      texts.push_back(place + "run: " + finding);
    if (expected.job.empty()) continue;
    const auto job = std::find_if(watched_.begin(), watched_.end(), [&](const JobStory& story) {
      return story.name == expected.job;
    });
    const std::string begin = place + "job " + expected.job + ": ";
    if (std::string finding; !place_window(expected, finding)) {
      texts.push_back(begin + finding);
      continue;
    }
    for (const std::string& finding : findings_of(expected, *job)) texts.push_back(begin + finding);
  }
  return texts;
}

}  // namespace orrery::sim
