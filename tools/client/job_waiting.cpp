#include "tools/client/job_waiting.hpp"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/client/absence.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/own_job.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr int kFirstPauseMs = 50;
constexpr int kLastPauseMs = 500;
constexpr int kWordsLooks = 20;  // For a second.

class Waiting {
 public:
  Waiting(Session& session, const std::vector<AwaitedJob>& jobs)
      : session_(session), absence_(session) {
    for (const AwaitedJob& job : jobs)
      jobs_.push_back({job.name, OwnJob(job.number), "", nullptr, false});
  }

  json run() {
    int pause = kFirstPauseMs;
    while (!interrupted()) {
      bool all_ended = true;
      for (Watched& job : jobs_)
        if (!job.ended && (!look(job) || !job.ended)) all_ended = false;
      if (all_ended || session_.code() == ExitCode::Unreachable) return documents();
      ::poll(nullptr, 0, pause);
      pause = std::min(pause * 2, kLastPauseMs);
    }
    session_.console().err("interrupted; the jobs go on (orrery stop ends them)\n");
    session_.tell(Errors{{.message = "interrupted"}});
    return documents();
  }

 private:
  struct Watched {
    std::string name;
    OwnJob own;
    std::string phase;
    json document;
    bool ended;
  };

  /// False where the controller does not answer.
  bool look(Watched& job) {
    const Result<HttpReply> reply = session_.client().send({.target = job_target(job.name)});
    if (!reply || reply->status == 503) {
      if (!interrupted()) absence_.goes_on(reply ? Errors{} : reply.errors());
      return false;
    }
    absence_.end();
    if (!reply->is_good()) {
      session_.tell(*reply, "job " + job.name);
      job.ended = true;
      return true;
    }
    job.document = json::parse(reply->body, nullptr, false);
    if (!job.own.is(job.document)) return look_past(job);
    tell_phase(job);
    if (text_of(job.document, "phase") == "Failed") {
      await_words(job);
      session_.console().err(failure_text(job.document));
    }
    return true;
  }

  /// Another job has the name: one's own has ended, and is known by its number as long as it is
  /// kept.
  bool look_past(Watched& job) {
    const Result<HttpReply> reply = job.own.ask_past(session_.client());
    if (!reply || reply->status == 503) return false;
    job.document = reply->is_good() ? job.own.past(*reply) : json();
    if (!reply->is_good()) {
      session_.tell(*reply, "job " + job.name);
    } else if (job.document.is_object()) {
      tell_phase(job);
      if (text_of(job.document, "phase") == "Failed")
        session_.console().err(failure_text(job.document));
    } else {
      job.document = {{"name", job.name}, {"id", job.own.number()}};
      session_.tell(Errors{{.subject = "job " + job.name,
                            .message = "was deleted, and another job has its name; how it ended is "
                                       "not known any more"}});
      session_.note(ExitCode::Unmet);
    }
    job.ended = true;
    return true;
  }

  void tell_phase(Watched& job) {
    const std::string phase = text_of(job.document, "phase");
    if (phase != job.phase) {
      const std::string why = shown_text_of(job.document, "message");
      session_.console().err(short_name(job.name) + ": " + phase +
                             (why.empty() ? "" : " (" + why + ")") + "\n");
      job.phase = phase;
    }
    job.ended = phase == "Succeeded" || phase == "Failed";
    if (phase == "Failed") session_.note(ExitCode::Unmet);
  }

  /// What the worker of a failure wrote comes a moment after the report of its end, if at all.
  void await_words(Watched& job) {
    for (int i = 0; i < kWordsLooks && !interrupted(); ++i) {
      const json& failures = list_of(job.document, "failures");
      if (failures.empty() || !text_of(failures.back(), "sentence").empty()) return;
      ::poll(nullptr, 0, kFirstPauseMs);
      const Result<HttpReply> reply = session_.client().send({.target = job_target(job.name)});
      if (!reply || !reply->is_good()) return;
      json now = json::parse(reply->body, nullptr, false);
      if (!job.own.may_be(now)) return;
      job.document = std::move(now);
    }
  }

  json documents() const {
    json out = json::array();
    for (const Watched& job : jobs_) out.push_back(job.document);
    return out;
  }

  Session& session_;
  std::vector<Watched> jobs_;
  Absence absence_;
};

}  // namespace

json wait_for_jobs(Session& session, const std::vector<AwaitedJob>& jobs) {
  return Waiting(session, jobs).run();
}

}  // namespace orrery::cli
