#include "core/recovery/failure_notes.hpp"

#include <algorithm>

#include "core/recovery/blame.hpp"

namespace orrery {
namespace {

// The end of a text, from the beginning of a line where it has several.
std::string end_of(const std::string& text) {
  if (text.size() <= kFailureTextMax) return text;
  std::string out = text.substr(text.size() - kFailureTextMax);
  const std::size_t line = out.find('\n');
  return line + 1 < out.size() && line != std::string::npos ? out.substr(line + 1) : out;
}

// Whether the worker's node has said more than how it ended.
bool is_explained(const WorkerFailure& failure) {
  return !failure.sentence.empty() && !failure.sentence.starts_with(kPlainEnd);
}

// Signals have the same numbers on every processor that Linux runs workers on, those below at
// least.
std::string signal_in_words(std::int32_t number, bool is_explained) {
  std::string_view name;
  switch (number) {
    case 6:
      name = " (SIGABRT)";
      break;
    case 9:
      name = is_explained ? " (SIGKILL)" : " (SIGKILL: by a user, or for want of memory)";
      break;
    case 11:
      name = " (SIGSEGV)";
      break;
    case 15:
      name = " (SIGTERM)";
      break;
    default:
      break;
  }
  return "was ended by signal " + std::to_string(number) + std::string(name);
}

// What shells mean by an exit code. A program may mean something else, and one that a script calls
// late may be there at the next try: so it stays a failure like any other.
std::string shell_in_words(std::int32_t exit_code) {
  if (exit_code == 126) return ", by which a shell says that a program cannot be executed";
  if (exit_code == 127) return ", by which a shell says that there is no such program";
  return "";
}

// What became of the worker.
std::string end_in_words(const WorkerFailure& failure) {
  if (failure.reason == Reason::WorkerHung) return "made no progress for too long";
  if (failure.reason == Reason::StartDeadline) return "was not ready in time";
  if (failure.reason == Reason::WorkerLost)
    return is_explained(failure)
               ? "was lost"
               : "was deleted from outside, or killed as the lease of its node ran out";
  if (failure.exit_code > 128 && failure.exit_code < 193)
    return signal_in_words(failure.exit_code - 128, is_explained(failure));
  if (failure.exit_code == 0) return "did not start";
  return "ended with exit code " + std::to_string(failure.exit_code) +
         shell_in_words(failure.exit_code);
}

// The failure of this start of a worker, which is the latest one from now on.
WorkerFailure& entry_for(JobState& job, Incarnation incarnation, Rank birth_rank) {
  std::vector<WorkerFailure>& all = job.failures.edit();
  const auto known = std::find_if(all.begin(), all.end(), [&](const WorkerFailure& failure) {
    return failure.incarnation == incarnation && failure.birth_rank == birth_rank;
  });
  if (known != all.end()) {
    std::rotate(known, std::next(known), all.end());
    return all.back();
  }
  if (!all.empty()) all.back().last_lines.clear();
  if (all.size() == kFailuresKept) all.erase(all.begin());
  WorkerFailure& fresh = all.emplace_back();
  fresh.incarnation = incarnation;
  fresh.birth_rank = birth_rank;
  return fresh;
}

}  // namespace

void note_failure(Step& step, JobState& job, std::uint32_t rank, Reason reason) {
  const Worker& worker = job.workers[rank];
  WorkerFailure& failure = entry_for(job, worker.incarnation, worker.birth_rank);
  failure.at = step.at;
  failure.reason = reason;
  failure.role = worker.role;
  failure.local_rank = worker.local_rank;
  failure.rank = Rank{rank};
  failure.node = worker.node;
  failure.exit_code = worker.exit_code;
  failure.diagnosis = *worker.diagnosis;
}

void on_event(Step& step, const FailureExplained& event) {
  const std::size_t kind = EventKinds(std::in_place_type<FailureExplained>).index();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kind);
  std::vector<WorkerFailure>& failures = job->failures.edit();
  auto known = std::find_if(failures.begin(), failures.end(), [&](const auto& failure) {
    return failure.incarnation == event.incarnation && failure.birth_rank == event.birth_rank;
  });
  if (known == failures.end()) {
    // The report of its end may come later, where its node had lost contact.
    const auto worker =
        std::find_if(job->workers.begin(), job->workers.end(), [&](const Worker& each) {
          return each.incarnation == event.incarnation && each.birth_rank == event.birth_rank;
        });
    // The end of one that was told to stop is no failure: it must not stand for the one that was.
    const bool ends_as_told = worker != job->workers.end() && step.state.settings.rules >= 4 &&
                              worker->state == WorkerState::Draining;
    if (worker == job->workers.end() || worker->is_gone() || ends_as_told)
      return ignore(step, job, Ignored::StaleIncarnation, kind);
    note_failure(step,
                 *job,
                 static_cast<std::uint32_t>(worker - job->workers.begin()),
                 Reason::WorkerFailed);
    known = std::prev(failures.end());
  }
  known->sentence = end_of(event.sentence);
  if (std::next(known) == failures.end()) known->last_lines = end_of(event.last_lines);
}

std::string failure_in_words(const State& state,
                             const JobState& job,
                             const WorkerFailure& failure) {
  std::string out =
      job.spec->roles[failure.role.index()].name + " " + std::to_string(failure.local_rank);
  if (failure.node.index() < state.nodes.size()) {
    const std::string& name = state.nodes[failure.node.index()].name;
    out += " on " + (name.empty() ? "node-" + std::to_string(failure.node.value) : name);
  }
  out += " " + end_in_words(failure);
  if (is_explained(failure)) out += ": " + failure.sentence.substr(0, failure.sentence.find('\n'));
  return out + blame_in_words(job, failure.diagnosis);
}

}  // namespace orrery
