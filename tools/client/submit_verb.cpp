// submit: the jobs of files, checked here, sent, and waited for where that is asked.
#include <nlohmann/json.hpp>

#include "tools/client/job_sources.hpp"
#include "tools/client/job_waiting.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

void tell_warnings(const Errors& warnings, Console& console) {
  std::string text;
  for (const Error& warning : warnings) text += "warning: " + warning.text() + "\n";
  if (!text.empty()) console.err(text);
}

/// Sends every file; the names of what was taken.
std::vector<std::string> send_all(Session& session,
                                  const std::vector<JobSource>& sources,
                                  const SubmissionAction& action,
                                  bool tells) {
  std::vector<std::string> names;
  for (const JobSource& source : sources) {
    const json document = session.ask(submission(source, action), source.path);
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted) break;
    for (const json& job : list_of(document, "jobs")) {
      names.push_back(text_of(job, "name"));
      if (tells)
        session.console().out(short_name(names.back()) +
                              (action.dry_run ? ": would be taken\n" : ": submitted\n"));
    }
  }
  return names;
}

}  // namespace

ExitCode run_submit(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  Errors warnings;
  const auto sources = read_job_sources(arguments.operands(), arguments.values("--set"), warnings);
  if (!options) console.errors(options.errors());
  if (!sources) console.errors(sources.errors());
  if (!options || !sources) return ExitCode::BadInput;
  tell_warnings(warnings, console);
  Session session(*options, console);
  const bool as_json = arguments.has("--json");
  const SubmissionAction action{.dry_run = arguments.has("--dry-run")};
  if (!action.dry_run && !check_sources(session, *sources)) return session.code();
  const std::vector<std::string> names = send_all(session, *sources, action, !as_json);
  json out = {{"jobs", json::array()}, {"warnings", json::array()}};
  for (const Error& warning : warnings) out["warnings"].push_back(warning.text());
  if (arguments.has("--wait") && !action.dry_run && !names.empty() &&
      session.code() != ExitCode::Interrupted) {
    const ExitCode before = session.code();
    out["jobs"] = wait_for_jobs(session, names);
    if (session.code() == ExitCode::Met) session.note(before);
  } else {
    for (const std::string& name : names) out["jobs"].push_back({{"name", name}});
  }
  if (as_json) console.out(out.dump(2) + "\n");
  return session.code();
}

}  // namespace orrery::cli
