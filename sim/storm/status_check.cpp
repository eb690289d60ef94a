// Whether the status of a job says what is so, by the model of the journal.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/storm/decision_check.hpp"
#include "sim/storm/notice_check.hpp"

namespace orrery::sim {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `text` without what users have named: a device model may be called "4 device".
std::string without_names(std::string text, const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    const std::string& model = role.bundle.device_model;
    for (std::size_t at = 0; !model.empty() && (at = text.find(model, at)) != std::string::npos;)
      text.erase(at, model.size());
  }
  return text;
}

std::uint32_t count_of(const FoldedJob& job, Counter counter) {
  return job.counts[static_cast<std::size_t>(counter)];
}

std::int32_t living(const FoldedJob& job, FoldedLife life, std::size_t role) {
  return static_cast<std::int32_t>(
      std::count_if(job.members.begin(), job.members.end(), [&](const FoldedWorker& worker) {
        return worker.life == life && worker.role.index() == role;
      }));
}

class StatusJudge {
 public:
  StatusJudge(const FoldedJob& job, const JobStatus& status, const FoldedRecord& record)
      : job_(job), status_(status), record_(record) {}

  std::vector<std::string> judge() {
    plain_facts();
    conditions();
    if (is_final(job_.phase))
      final_phase();
    else
      live_phase();
    failures();
    words();
    return std::move(wrong_);
  }

 private:
  void say(const std::string& what) { wrong_.push_back("its status " + what); }

  template <class T>
  void same(std::string_view name, T told, T is) {
    if (told == is) return;
    if constexpr (std::is_arithmetic_v<T>)
      say("says " + std::string(name) + " " + std::to_string(told) + ", it is " +
          std::to_string(is));
    else
      say("says another " + std::string(name) + " than is so");
  }

  void plain_facts() {
    same("name", status_.name, job_.spec->name);
    same("phase", status_.phase, job_.phase);
    same("generation", status_.generation.value, job_.generation.value);
    same("restarts", status_.restarts, count_of(job_, Counter::Restarts));
    same("reschedules", status_.reschedules, count_of(job_, Counter::Reschedules));
    same("preemptions", status_.preemptions, count_of(job_, Counter::Preemptions));
    same("node_losses", status_.node_losses, count_of(job_, Counter::NodeLosses));
    same("submitted", status_.submitted.ns, job_.submitted.ns);
    same("completed", status_.completed.ns, job_.completed.ns);
  }

  void conditions() {
    std::size_t in_force = 0;
    for (std::size_t i = 0; i < status_.conditions.size(); ++i) {
      const Condition& condition = status_.conditions[i];
      in_force += condition.status ? 1 : 0;
      if (condition.status && condition.phase != job_.phase)
        say("has a condition of another phase");
      if (condition.status && condition.since != job_.since)
        say("has a condition since another time than its phase began");
      if (condition.since > record_.event.at || condition.since < job_.submitted)
        say("has a condition of another time");
      for (std::size_t k = 0; k < i; ++k)
        if (status_.conditions[k].phase == condition.phase) say("has a condition twice");
    }
    if (in_force != 1) say("has " + std::to_string(in_force) + " conditions in force");
  }

  void final_phase() {
    if (status_.replicas != 0 || status_.ready_replicas != 0 || !status_.roles.empty() ||
        !status_.allocation.empty() || status_.devices != 0)
      say("has workers after the end of the job");
  }

  void live_phase() {
    if (status_.roles.size() != job_.spec->roles.size()) return say("lacks a role");
    std::int32_t target = 0;
    std::int32_t ready = 0;
    for (std::size_t r = 0; r < status_.roles.size(); ++r) {
      const RoleStatus& role = status_.roles[r];
      same("role", role.name, job_.spec->roles[r].name);
      target += role.target;
      ready += role.ready;
      if (!job_.is_told()) continue;
      if (role.target < 1) say("has a target of " + std::to_string(role.target));
      same("ready of role " + role.name, role.ready, living(job_, FoldedLife::Ready, r));
      same("draining of role " + role.name, role.draining, living(job_, FoldedLife::Draining, r));
      if (job_.phase == JobPhase::Running || job_.phase == JobPhase::Starting)
        same("starting of role " + role.name, role.starting, living(job_, FoldedLife::Starting, r));
    }
    same("target", status_.target, target);
    same("ready_replicas", status_.ready_replicas, ready);
    if (!job_.is_told()) return;
    if (job_.phase == JobPhase::Running || job_.phase == JobPhase::Starting)
      same("replicas", status_.replicas, static_cast<std::int32_t>(job_.members.size()));
    if (job_.phase == JobPhase::Running) places();
  }

  void places() {
    std::int32_t replicas = 0;
    for (const PlaceStatus& place : status_.allocation) {
      replicas += place.replicas;
      const auto there =
          std::count_if(job_.members.begin(), job_.members.end(), [&](const FoldedWorker& worker) {
            return worker.node == place.number &&
                   job_.spec->roles[worker.role.index()].name == place.role;
          });
      same("replicas of role " + place.role + " on node " + std::to_string(place.number.value),
           place.replicas,
           static_cast<std::int32_t>(there));
    }
    same("places", replicas, static_cast<std::int32_t>(job_.members.size()));
  }

  // Each failure that is told of was reported, of a worker of this role, with this code. Its local
  // rank may have changed between its start, which is what the model knows, and its end.
  void failures() {
    if (status_.failures.size() > 3) say("tells more than the last three failures");
    Instant before;
    for (const FailureStatus& failure : status_.failures) {
      if (failure.at < before || failure.at > record_.event.at)
        say("tells failures out of their order");
      before = failure.at;
      const bool known =
          std::any_of(job_.failures.begin(), job_.failures.end(), [&](const FoldedFailure& was) {
            return job_.spec->roles[was.role.index()].name == failure.role &&
                   was.exit_code == failure.exit_code;
          });
      if (failure.exit_code != 0 && failure.exit_code != kPortInUse && !known)
        say("tells a failure of " + failure.role + " " + std::to_string(failure.local_rank) +
            " with exit code " + std::to_string(failure.exit_code) + ", which nobody reported");
      failure_in_words(failure);
    }
  }

  void failure_in_words(const FailureStatus& failure) {
    const std::string& text = failure.message;
    const std::int32_t code = failure.exit_code;
    if (!text.starts_with(failure.role + " " + std::to_string(failure.local_rank) + " "))
      say("speaks of a failure without its worker: " + text);
    // Beyond 128 stand the 64 signals.
    const bool by_signal = code > 128 && code <= 128 + 64;
    const bool by_code = code != 0 && !by_signal;
    const bool ended = failure.reason == Reason::WorkerFailed ||
                       failure.reason == Reason::WorkerErred ||
                       failure.reason == Reason::NodeBlamed;
    if (!ended) return;
    if (has(text, "signal " + std::to_string(code - 128)) != by_signal ||
        has(text, "exit code " + std::to_string(code)) != by_code)
      say("speaks of exit code " + std::to_string(code) + " as: " + text);
  }

  // "is passed: 3 failures, 2 are allowed".
  static std::string passed(std::int32_t limit) {
    return "is passed: " + std::to_string(limit + 1) + (limit == 0 ? " failure, " : " failures, ") +
           std::to_string(limit) + (limit == 1 ? " is allowed" : " are allowed");
  }

  void words() {
    const std::string& text = status_.message;
    if (text.empty()) return say("has no reason in words");
    const std::string wrong = disagreement(without_names(text, *job_.spec));
    if (!wrong.empty()) say("says \"" + wrong + "\": " + text);
    if (job_.phase == JobPhase::Restarting) {
      const std::string counted = "restart " + std::to_string(count_of(job_, Counter::Restarts)) +
                                  " of " + std::to_string(job_.spec->backoff_limit);
      if (!has(text, counted)) say("does not say " + counted + ": " + text);
    }
    // One that its user has deleted says that.
    if (job_.phase != JobPhase::Failed || job_.deleted_in != Sequence{}) return;
    if (job_.reason == Reason::BackoffLimitReached && !job_.changed &&
        !has(text, passed(job_.spec->backoff_limit)))
      say("does not say which limit was passed: " + text);
    if (job_.reason == Reason::FailureLimitReached && !has(text, " allowed"))
      say("does not say which limit was passed: " + text);
  }

  const FoldedJob& job_;
  const JobStatus& status_;
  const FoldedRecord& record_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> false_in_status(const FoldedJob& job,
                                         const JobStatus& status,
                                         const FoldedRecord& record) {
  return StatusJudge(job, status, record).judge();
}

}  // namespace orrery::sim
