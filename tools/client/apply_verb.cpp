// apply: the controller compares what files say with what its jobs are.
#include <nlohmann/json.hpp>

#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

class Apply {
 public:
  Apply(Session& session, const Arguments& arguments)
      : session_(session),
        as_json_(arguments.has("--json")),
        action_{.apply = true, .dry_run = arguments.has("--dry-run")} {}

  void file(const JobSource& source) {
    const Result<HttpReply> reply = session_.client().send(submission(source, action_));
    if (!reply) {
      session_.tell(reply.errors());
      return;
    }
    const json document = json::parse(reply->body, nullptr, false);
    const json& jobs = list_of(document, "jobs");
    for (const json& job : jobs) {
      results_.push_back(job);
      if (!as_json_) tell(job);
    }
    // Where some jobs were left as they are the rest is done, and told above.
    if (!reply->is_good()) session_.tell(*reply, jobs.empty() ? source.path : "");
  }

  json take_results() { return std::move(results_); }

 private:
  void tell(const json& job) {
    const std::string result = text_of(job, "result");
    if (result == "differs" || result == "refused") return;  // An error, with its reason.
    const std::string detail = shown_text_of(job, "detail");
    session_.console().out(
        short_name(text_of(job, "name")) + ": " + result +
        (detail.empty() ? "" : " (" + detail + ")") +
        (action_.dry_run && result != "unchanged" ? ", if not for --dry-run" : "") + "\n");
  }

  Session& session_;
  bool as_json_;
  SubmissionAction action_;
  json results_ = json::array();
};

}  // namespace

ExitCode run_apply(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  Errors warnings;
  const auto sources = read_job_sources(arguments.operands(), {}, warnings);
  if (!options) console.errors(options.errors());
  if (!sources) console.errors(sources.errors());
  if (!options || !sources) return ExitCode::BadInput;
  console.warnings(warnings);
  Session session(*options, console);
  if (!check_sources(session, *sources, {.apply = true})) return session.code();
  Apply apply(session, arguments);
  for (const JobSource& source : *sources) {
    apply.file(source);
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted)
      return session.code();
  }
  if (arguments.has("--json")) console.out(json{{"jobs", apply.take_results()}}.dump(2) + "\n");
  return session.code();
}

}  // namespace orrery::cli
