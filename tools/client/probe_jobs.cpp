#include "tools/client/probe_jobs.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/log_following.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr int kProbeLookMs = 50;
constexpr std::chrono::minutes kPhaseLimit{2};  // For a job to get where it is wanted.
constexpr int kStepsLooks = 20;                 // A second of steps between two changes.
constexpr std::int32_t kRescales = 4;

std::vector<double> numbers_of(const json& document, const char* key) {
  std::vector<double> out;
  for (const json& each : list_of(document, key))
    if (each.is_number()) out.push_back(each.get<double>());
  return out;
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// How the wait for a job came out.
struct Awaited {
  enum class End : std::uint8_t {
    Reached,
    Refused,  ///< It cannot run, or has not in time.
    Failed,   ///< It ended otherwise than it should.
    Broken,   ///< No answer, or an interrupt; told already.
  };

  End end = End::Reached;
  std::string why;         ///< Of one that was refused or failed: "was not ...".
  std::int64_t ready = 0;  ///< Workers that were ready, of one that was reached.

  bool reached() const { return end == End::Reached; }
};

/// One job of the measurement, stopped and forgotten at its end.
class ProbeJob {
 public:
  ProbeJob(Session& session, std::string name) : session_(session), name_(std::move(name)) {}

  /// An interrupt ends the measurement, not what was begun: the job is deleted all the same, unless
  /// a second interrupt comes.
  ~ProbeJob() {
    if (!may_be_there_) return;
    if (interrupted()) {
      session_.note(ExitCode::Interrupted);
      exit_at_interrupt();
    }
    const auto gone = session_.client().send({.method = "DELETE", .target = job_target(name_)});
    constexpr int kNoSuchJob = 404;
    if (gone && (gone->is_good() || gone->status == kNoSuchJob)) return;
    session_.console().err("job " + name_ +
                           " may be left on the cluster; delete it with orrery delete " + name_ +
                           "\n");
  }

  ProbeJob(const ProbeJob&) = delete;
  ProbeJob& operator=(const ProbeJob&) = delete;

  /// `replicas` and `command` as in a job file.
  bool submit(const ProbePlan& plan, const std::string& replicas, const json& command) {
    const std::string text = "name: " + name_ + "\nroles:\n  main: {replicas: " + replicas +
                             ", devices: " + std::to_string(plan.devices) +
                             ", cpu: 10m, memory: 64MiB, command: " + command.dump() + "}\n";
    JobSource source;
    source.path = name_ + ".yaml";
    source.text = text;
    const bool taken = !session_.ask(submission(source), "job " + name_).is_null();
    // What was sent and not answered may have been taken.
    may_be_there_ = taken || session_.code() == ExitCode::Interrupted ||
                    session_.code() == ExitCode::Unreachable;
    return taken;
  }

  /// Waits until the job is in the phase with so many ready workers; 0: with any number.
  Awaited await(const std::string& phase, std::int64_t wanted) {
    const auto limit = std::chrono::steady_clock::now() + kPhaseLimit;
    std::string last;
    while (!interrupted()) {
      const json job = session_.ask({.target = job_target(name_)}, "job " + name_);
      if (job.is_null()) return {.end = Awaited::End::Broken};
      const std::string now = text_of(job, "phase");
      const std::int64_t ready = number_of(job, "ready_replicas");
      if (now == phase && (wanted == 0 || ready == wanted)) return {.ready = ready};
      last = now + ": " + text_of(job, "message");
      if (now == "Pending" && text_of(job, "reason") == "Infeasible")
        return {.end = Awaited::End::Refused,
                .why = "would never run: " + text_of(job, "message") +
                       "; name fewer or smaller ranks with --ranks and --devices"};
      if (now == "Failed" || now == "Succeeded")
        return {.end = Awaited::End::Failed, .why = "is " + last};
      if (std::chrono::steady_clock::now() > limit) break;
      ::poll(nullptr, 0, kProbeLookMs);
    }
    if (!interrupted())
      return {.end = Awaited::End::Refused,
              .why = "was not " + phase +
                     (wanted == 0 ? "" : " with " + std::to_string(wanted) + " ready") +
                     " within two minutes, but " + last};
    session_.note(ExitCode::Interrupted);
    return {.end = Awaited::End::Broken};
  }

  /// As `await`, for a job that comes to its end.
  Awaited await_success() { return await("Succeeded", 0); }

  /// Tells why it was not reached, where nobody has, and sets the code.
  void tell(const Awaited& awaited) {
    if (awaited.end == Awaited::End::Refused) refuse(awaited.why);
    if (awaited.end != Awaited::End::Failed) return;
    session_.console().err(name_ + " " + awaited.why + "\n" + last_words());
    session_.note(ExitCode::Unmet);
  }

  void stop() {
    static_cast<void>(
        session_.ask({.method = "POST", .target = job_target(name_, "/stop")}, "job " + name_));
  }

  void scale(std::int32_t replicas) {
    static_cast<void>(session_.ask({.method = "POST",
                                    .target = job_target(name_, "/scale"),
                                    .body = json{{"replicas", replicas}}.dump()},
                                   "job " + name_));
  }

  json events() {
    const json document =
        session_.ask({.target = "/api/v1/events?backlog=4096&job=" + url_escaped(full_name(name_))},
                     "job " + name_);
    return list_of(document, "events");
  }

  std::string log() {
    LogWish wish;
    wish.job = name_;
    const auto reply =
        session_.client().send({.target = log_target(wish, {}), .accept = "text/plain"});
    return reply && reply->is_good() ? reply->body : std::string();
  }

  void refuse(const std::string& what) {
    session_.tell(Errors{{.subject = "job " + name_, .message = what}});
  }

 private:
  std::string last_words() {
    const std::string text = log();
    constexpr std::size_t kKept = 1000;
    return text.size() > kKept ? text.substr(text.size() - kKept) : text;
  }

  Session& session_;
  std::string name_;
  bool may_be_there_ = false;
};

/// Seconds from each event of one of the names `from` to the next of the name `to`.
std::vector<double> between(const json& events,
                            const std::vector<std::string>& from,
                            const std::string& to) {
  std::vector<double> out;
  std::int64_t began = 0;  // 0: none has.
  for (const json& event : events) {
    const std::string name = text_of(event, "name");
    if (std::ranges::find(from, name) != from.end()) {
      began = number_of(event, "at");
    } else if (name == to && began > 0) {
      out.push_back(static_cast<double>(number_of(event, "at") - began) / 1e9);
      began = 0;
    }
  }
  return out;
}

class Probes {
 public:
  Probes(Session& session, const ProbePlan& plan) : session_(session), plan_(plan) {}

  ProbeReport run() {
    for (const std::int32_t ranks : plan_.ranks)
      for (std::int32_t start = 0; start < plan_.starts; ++start)
        if (!measure(ranks, start)) return std::move(out_);
    rescale();
    return std::move(out_);
  }

 private:
  std::string name_of(const std::string& what) const {
    return "calibrate-" + std::to_string(::getpid()) + "-" + what;
  }

  void tell(const std::string& line) { session_.console().err(line + "\n"); }

  /// One job that measures, of so many ranks.
  bool measure(std::int32_t ranks, std::int32_t start) {
    tell("measuring with " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + ", " +
         std::to_string(start + 1) + " of " + std::to_string(plan_.starts));
    ProbeJob job(session_, name_of(std::to_string(ranks) + "-" + std::to_string(start + 1)));
    const json command{plan_.worker,
                       "--measure",
                       std::to_string(plan_.rounds),
                       "--size",
                       std::to_string(plan_.size),
                       "--checkpoint",
                       "checkpoint",
                       "--json"};
    if (!job.submit(plan_, std::to_string(ranks), command)) return false;
    if (const Awaited ended = job.await_success(); !ended.reached()) {
      job.tell(ended);
      return false;
    }
    append(out_.starts_s, between(job.events(), {"JobStarting"}, "JobRunning"));
    const json measured = last_document(job.log());
    if (!measured.is_object()) {
      job.refuse("wrote no measurement; " + plan_.worker +
                 " has to be an orrery-worker of this version, name it with --worker");
      return false;
    }
    take(measured, ranks);
    return true;
  }

  static json last_document(const std::string& log) {
    json out;
    for (std::size_t begin = 0; begin < log.size();) {
      const std::size_t end = std::min(log.find('\n', begin), log.size());
      if (log[begin] == '{') out = json::parse(log.substr(begin, end - begin), nullptr, false);
      begin = end + 1;
    }
    return out;
  }

  void take(const json& measured, std::int32_t ranks) {
    out_.device = text_of(measured, "device");
    if (ranks > 1) out_.backend = text_of(measured, "backend");
    append(out_.multiply_s, numbers_of(measured, "multiply_s"));
    out_.flops = std::max(out_.flops, real_of(measured, "gflops_p50") * 1e9);
    out_.checkpoint_bytes = real_of(measured, "checkpoint_bytes");
    append(out_.writes_s, numbers_of(measured, "checkpoint_write_s"));
    append(out_.reads_s, numbers_of(measured, "checkpoint_read_s"));
    if (ranks < 2) return;
    for (const json& sum : list_of(measured, "all_reduce"))
      append(sum_of(ranks, real_of(sum, "bytes")).times_s, numbers_of(sum, "times_s"));
  }

  /// All starts of so many ranks are one sample.
  ProbeSum& sum_of(std::int32_t ranks, double bytes) {
    for (ProbeSum& sum : out_.sums)
      if (sum.ranks == ranks && sum.bytes == bytes) return sum;
    return out_.sums.emplace_back(ProbeSum{ranks, bytes, {}});
  }

  /// A job that is stopped, and grows and shrinks before where two ranks are to be measured. All
  /// else was measured by then: what goes wrong here is a remark.
  void rescale() {
    const bool alone = std::ranges::max(plan_.ranks) < 2;
    tell(alone ? "measuring a stop" : "measuring changes of membership");
    ProbeJob job(session_, name_of("elastic"));
    const json command{plan_.worker, "--steps", "0", "--step-time-min", "20ms", "--size", "64"};
    if (!job.submit(plan_, alone ? "1" : "{min: 1, max: 2}", command)) return;
    const Awaited began = job.await("Running", 0);
    if (!began.reached()) {
      leave_out("changes of membership and the stop", began);
      return;
    }
    if (alone)
      out_.remarks.emplace_back(
          "changes of membership were not measured: they take two ranks, --ranks names one");
    const bool changed = alone || change_membership(job, began.ready);
    if (!changed && session_.code() != ExitCode::Met) return;
    ::poll(nullptr, 0, kProbeLookMs * kStepsLooks);
    if (!alone) take_rebuilds(job.log(), changed);
    job.stop();
    if (!await_exit(job)) return;
    const json events = job.events();
    append(out_.forming_s, between(events, {"JobRescheduling"}, "JobRunning"));
    append(out_.stops_s, between(events, {"JobFailed"}, "WorkersExited"));
    // A membership that shrinks asks a worker to stop, and forms when it has.
    append(out_.stops_s, between(shrinks(events), {"JobRescheduling"}, "WorkersExited"));
  }

  /// From one rank to two and back, several times. What it begins with is for the policy to say:
  /// one that grows jobs by itself begins with two.
  bool change_membership(ProbeJob& job, std::int64_t ready) {
    for (std::int32_t change = 0; change < kRescales; ++change) {
      const std::int32_t wanted = ready == 1 ? 2 : 1;
      ::poll(nullptr, 0, kProbeLookMs * kStepsLooks);
      job.scale(wanted);
      ::poll(nullptr, 0, kProbeLookMs);
      const Awaited got = job.await("Running", wanted);
      if (!got.reached()) {
        leave_out(change == 0 ? "changes of membership" : "further changes of membership", got);
        return false;
      }
      ready = wanted;
    }
    return true;
  }

  void leave_out(const std::string& what, const Awaited& awaited) {
    if (awaited.end != Awaited::End::Broken)
      out_.remarks.push_back(what + " were not measured: the job for it " + awaited.why);
  }

  /// Waits for the report of the last worker's end.
  bool await_exit(ProbeJob& job) {
    const auto limit = std::chrono::steady_clock::now() + kPhaseLimit;
    while (session_.code() == ExitCode::Met) {
      if (!between(job.events(), {"JobFailed"}, "WorkersExited").empty()) return true;
      if (interrupted()) session_.note(ExitCode::Interrupted);
      if (std::chrono::steady_clock::now() > limit) {
        out_.remarks.emplace_back(
            "the stop was not measured: the job for it had not ended after two minutes");
        return false;
      }
      ::poll(nullptr, 0, kProbeLookMs);
    }
    return false;
  }

  static json shrinks(const json& events) {
    json out = json::array();
    for (const json& event : events) {
      const std::string name = text_of(event, "name");
      if (name == "JobRescheduling" || name == "WorkersExited" || name == "WorkersRunning")
        out.push_back(event);
    }
    return out;
  }

  /// "generation 2: rank 0 of 2, gloo on cpu, built in 4.2 ms, at step 60", from the second one on.
  void take_rebuilds(const std::string& log, bool changed) {
    constexpr std::string_view kGeneration = "generation ";
    constexpr std::string_view kBuilt = ", built in ";
    for (std::size_t begin = 0; begin < log.size();) {
      const std::size_t end = std::min(log.find('\n', begin), log.size());
      const std::string line = log.substr(begin, end - begin);
      begin = end + 1;
      const std::size_t built = line.find(kBuilt);
      if (!line.starts_with(kGeneration) || built == line.npos) continue;
      if (line.starts_with("generation 1:")) continue;
      out_.rescales_s.push_back(std::strtod(line.c_str() + built + kBuilt.size(), nullptr) / 1e3);
    }
    if (out_.rescales_s.empty() && changed)
      out_.remarks.emplace_back("no worker stayed through a change of membership");
  }

  Session& session_;
  const ProbePlan& plan_;
  ProbeReport out_;
};

}  // namespace

ProbeReport run_probes(Session& session, const ProbePlan& plan) {
  return Probes(session, plan).run();
}

}  // namespace orrery::cli
