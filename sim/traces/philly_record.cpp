#include "sim/traces/philly_record.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

std::string subject_of(const RawJob& raw) {
  return raw.id.missing() ? "job" : "job " + quote_input(raw.id.text);
}

std::optional<LocalTime> PhillyJobBuilder::time(const Located& text,
                                                const std::string& subject,
                                                OddHours& odd) {
  const auto time = parse_local_time(text.text, options_.zone);
  if (!time) {
    errors_.add(text.line,
                subject,
                "found the time " + quote_input(text.text) +
                    ", but a date and time of the calendar is needed; write it as 2017-10-09 "
                    "07:01:55");
    return time;
  }
  odd.ambiguous = odd.ambiguous || time->ambiguous;
  odd.skipped = odd.skipped || time->skipped;
  last_mentioned_ = std::max(last_mentioned_, time->at);
  return time;
}

std::optional<TraceStatus> PhillyJobBuilder::status(const RawJob& raw, const std::string& subject) {
  for (const TraceStatus status : {TraceStatus::Pass, TraceStatus::Killed, TraceStatus::Failed}) {
    if (raw.status.text == to_string(status)) return status;
  }
  errors_.add(raw.status.missing() ? raw.line : raw.status.line,
              subject,
              (raw.status.missing() ? std::string("the status is missing")
                                    : "found the status " + quote_input(raw.status.text)) +
                  ", but Pass, Killed or Failed is needed; correct or delete the record");
  return std::nullopt;
}

PhillyJobBuilder::Run PhillyJobBuilder::run(const RawJob& raw,
                                            const std::string& subject,
                                            OddHours& odd) {
  Run run;
  for (const RawAttempt& attempt : raw.attempts) {
    std::optional<LocalTime> start;
    std::optional<LocalTime> end;
    if (!attempt.start.missing()) start = time(attempt.start, subject, odd);
    if (!attempt.end.missing()) end = time(attempt.end, subject, odd);
    run.broken =
        run.broken || (!start && !attempt.start.missing()) || (!end && !attempt.end.missing());
    run.open_since.reset();
    if (!start || !end) {
      run.censored = true;
      if (start) run.open_since = start->at;
      continue;
    }
    if (end->at < start->at && end->ambiguous) end->at = end->at + Duration::seconds(3600);
    if (end->at < start->at) {
      errors_.add(attempt.end.line,
                  subject,
                  "the attempt ends at " + quote_input(attempt.end.text) +
                      ", before its start at " + quote_input(attempt.start.text) +
                      ", but an end comes after its start; correct one of them");
      run.broken = true;
    }
    run.known += end->at - start->at;
    if (run.known > kTraceDurationMax) {
      errors_.add(attempt.end.line,
                  subject,
                  "the attempts last " + std::to_string(run.known.in_seconds()) +
                      " s, but at most 100 years are possible; correct the times");
      run.broken = true;
      break;  // A longer sum would overflow.
    }
  }
  return run;
}

int PhillyJobBuilder::size(const RawJob& raw) {
  int gpus = 0;
  bool differ = false;
  for (const RawAttempt& attempt : raw.attempts) {
    if (attempt.gpus == 0) continue;
    if (gpus == 0) gpus = attempt.gpus;
    differ = differ || attempt.gpus != gpus;
  }
  if (differ) report_.count(TraceReason::SizesDiffer, TraceAction::Altered);
  return gpus;
}

std::optional<std::string> PhillyJobBuilder::unique_name(const RawJob& raw) {
  const std::string& id = raw.id.text;
  const bool repeated = !records_.insert(raw.content).second;
  const auto [known, is_new] = numbers_.try_emplace(id, 2);
  if (is_new && !made_.contains(id)) return id;
  if (repeated && options_.duplicates == OddRows::Drop) {
    report_.count(TraceReason::ExactDuplicate, TraceAction::Dropped);
    return std::nullopt;
  }
  report_.count(repeated ? TraceReason::ExactDuplicate : TraceReason::NameUsedBefore,
                TraceAction::Altered);
  std::string name;
  do {
    name = id + "-" + std::to_string(known->second++);
  } while (numbers_.contains(name) || !made_.insert(name).second);
  return name;
}

bool PhillyJobBuilder::drops(TraceReason reason, OddRows choice) {
  const bool drop = choice == OddRows::Drop;
  report_.count(reason, drop ? TraceAction::Dropped : TraceAction::Kept);
  return drop;
}

void PhillyJobBuilder::add(const RawJob& raw) {
  ++report_.rows;
  const std::string subject = subject_of(raw);
  if (raw.id.text.empty()) {
    errors_.add(raw.line, subject, "the jobid is missing, but each job needs one; add it");
  }
  if (raw.submitted.missing()) {
    errors_.add(raw.line,
                subject,
                "the submitted_time is missing, but a job enters the queue at some time; add it or "
                "delete the record");
  }
  OddHours odd;
  const auto ended = status(raw, subject);
  const auto submit = raw.submitted.missing() ? std::nullopt : time(raw.submitted, subject, odd);
  const Run ran = run(raw, subject, odd);
  if (raw.id.text.empty() || !submit || !ended || ran.broken) return;

  const auto name = unique_name(raw);
  if (!name) return;
  if (raw.attempts.empty()) {
    report_.count(TraceReason::NeverStarted, TraceAction::Dropped);
    return;
  }
  if (ran.censored && drops(TraceReason::Censored, options_.censored)) return;
  TraceJob job;
  job.gpus = size(raw);
  if (job.gpus == 0 && drops(TraceReason::ZeroGpus, options_.zero_gpus)) return;
  job.name = *name;
  job.submit = submit->at;
  job.duration = ran.known;
  job.vc = raw.vc.text;
  job.user = raw.user.text;
  job.status = *ended;
  job.censored = ran.censored;
  if (raw.attempts.size() > 1) report_.count(TraceReason::SeveralAttempts, TraceAction::Altered);
  if (odd.ambiguous) report_.count(TraceReason::AmbiguousHour, TraceAction::Altered);
  if (odd.skipped) report_.count(TraceReason::SkippedHour, TraceAction::Altered);
  if (ran.open_since) open_attempts_.push_back({jobs_.size(), *ran.open_since});
  jobs_.push_back(std::move(job));
}

Trace PhillyJobBuilder::finish() {
  for (const OpenAttempt& open : open_attempts_) {
    jobs_[open.job].duration += last_mentioned_ - open.start;
  }
  for (TraceJob& job : jobs_) {
    if (job.duration >= Duration::seconds(1)) continue;
    report_.count(TraceReason::ZeroDuration, TraceAction::Altered);
    job.duration = Duration::seconds(1);
  }
  return finish_trace(std::move(jobs_), std::move(report_));
}

}  // namespace orrery::sim
