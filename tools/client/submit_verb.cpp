// submit: the jobs of files, checked here, sent, and waited for where that is asked.
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/language/rlinf/inventory_words.hpp"
#include "tools/client/forecast_reading.hpp"
#include "tools/client/job_sources.hpp"
#include "tools/client/job_waiting.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/forecast_text.hpp"
#include "tools/documents/rlinf_documents.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

/// The nodes of the controller in the order of their numbers, as `--nodes` takes them in a file.
Result<scenarios::YamlNode> nodes_of(Session& session) {
  const json nodes = session.ask_list("nodes");
  std::string text;
  for (const json& node : nodes) {
    text += "- {gpus: " + std::to_string(node.value("devices", 0));
    const std::string model = text_of(node, "device_model");
    if (!model.empty()) text += ", gpu_model: " + json(model).dump();
    text += "}\n";
  }
  if (text.empty())
    return Error{.subject = "controller",
                 .message =
                     "has no nodes yet, a document of RLinf is placed on nodes; start "
                     "agents, or say what there will be with --nodes"};
  return scenarios::inventory_of_file(text, "the controller's nodes");
}

/// A document of RLinf on the nodes of --nodes, else on those that the controller has.
Result<std::string> job_of_document(Session& session,
                                    const Arguments& arguments,
                                    const std::string& path,
                                    const std::string& text,
                                    Errors& warnings) {
  auto context = placement_context({path,
                                    arguments.values("--set"),
                                    arguments.values("--config-dir"),
                                    arguments.value("--nodes"),
                                    arguments.value("--program")});
  if (!context) return context.errors();
  if (!context->nodes) {
    auto nodes = nodes_of(session);
    if (!nodes) return nodes.errors();
    context->nodes = std::move(*nodes);
  }
  const auto command = arguments.value("--command");
  if (!command)
    return Error{.file = path,
                 .subject = "document",
                 .message =
                     "is of RLinf and does not say what its processes run, --command is "
                     "needed; add --command 'python3 worker.py', where GROUP_NAME and RANK "
                     "say which process it is"};
  return rlinf_job(
      text, *context, {.name = scenarios::job_name_of_file(path), .command = *command}, warnings);
}

/// What the controller foretells of every job of a file, which was not submitted. Where it makes no
/// forecast now, why is told, and the trial is good all the same; not where it could never start.
json foretell(Session& session, const JobSource& source, bool tells) {
  json out = json::array();
  for (const JobSpec& spec : source.jobs) {
    const auto reply = session.client().send(hypothetical(source, {}, spec.name));
    const json document =
        reply ? json::parse(reply->body, nullptr, false) : json(json::value_t::discarded);
    if (!reply || !reply->is_good() || document.is_discarded()) {
      const std::string why =
          reply ? text_of(member_of(document, "error"), "message") : reply.errors().front().message;
      session.console().err("remark: " + short_name(spec.name) + ": no forecast" +
                            (why.empty() ? "" : ": " + why) + "\n");
      continue;
    }
    const ForecastAnswer answer = forecast_of(document);
    if (tells) session.console().out(forecast_page(answer));
    if (!answer.jobs.empty() && answer.jobs.front().never_fits) session.note(ExitCode::Unmet);
    out.push_back(document);
  }
  return out;
}

/// Sends every file; what was taken.
std::vector<AwaitedJob> send_all(Session& session,
                                 const std::vector<JobSource>& sources,
                                 const SubmissionAction& action,
                                 bool tells) {
  std::vector<AwaitedJob> jobs;
  for (const JobSource& source : sources) {
    const auto reply = session.client().send(submission(source, action));
    json document = session.read(reply, source.path);
    // Of a file that could not be carried through the first jobs are in all the same.
    if (document.is_null() && reply) document = json::parse(reply->body, nullptr, false);
    for (const json& job : list_of(document, "jobs")) {
      jobs.push_back({text_of(job, "name"), {}});
      if (job.contains("id")) jobs.back().number = number_of(job, "id");
      if (tells)
        session.console().out(short_name(jobs.back().name) +
                              (action.dry_run ? ": would be taken\n" : ": submitted\n"));
    }
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted) break;
  }
  return jobs;
}

}  // namespace

ExitCode run_submit(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  Errors warnings;
  Errors placed;  // Of documents of RLinf.
  if (!options) console.errors(options.errors());
  Session session(options ? *options : ClientOptions{}, console);
  const auto sources = read_job_sources(
      arguments.operands(),
      arguments.values("--set"),
      warnings,
      [&](const std::string& path, const std::string& text) -> Result<std::string> {
        if (!options) return options.errors();
        return job_of_document(session, arguments, path, text, placed);
      });
  if (!sources && session.code() == ExitCode::Met) console.errors(sources.errors());
  if (session.code() != ExitCode::Met) return session.code();
  if (!options || !sources) return ExitCode::BadInput;
  warnings.insert(warnings.end(), placed.begin(), placed.end());
  console.warnings(warnings);
  const bool as_json = arguments.has("--json");
  const SubmissionAction action{.dry_run = arguments.has("--dry-run")};
  if (!action.dry_run && !check_sources(session, *sources)) return session.code();
  const std::vector<AwaitedJob> jobs = send_all(session, *sources, action, !as_json);
  json out = {{"jobs", json::array()}, {"warnings", json::array()}};
  for (const Error& warning : warnings) out["warnings"].push_back(warning.text());
  if (arguments.has("--wait") && !action.dry_run && !jobs.empty() &&
      session.code() != ExitCode::Interrupted) {
    const ExitCode before = session.code();
    out["jobs"] = wait_for_jobs(session, jobs);
    if (session.code() == ExitCode::Met) session.note(before);
  } else {
    for (const AwaitedJob& job : jobs) out["jobs"].push_back({{"name", job.name}});
  }
  if (action.dry_run && session.code() == ExitCode::Met) {
    out["forecasts"] = json::array();
    for (const JobSource& source : *sources)
      for (json& each : foretell(session, source, !as_json))
        out["forecasts"].push_back(std::move(each));
  }
  if (action.dry_run && list_of(out, "forecasts").size() > 1)
    console.err("remark: each job is foretold as if none of the others were submitted\n");
  if (as_json) console.out(out.dump(2) + "\n");
  return session.code();
}

}  // namespace orrery::cli
