#include "tools/client/run_verb.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "scenarios/language/jobs/job_file.hpp"
#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr const char* kNodes = "/api/v1/nodes";
constexpr int kNamesTried = 8;  // Each taken by another submission in between.

/// With the remedy that only this verb has.
Errors with_standalone(Errors errors) {
  for (Error& error : errors)
    if (error.code == ErrorCode::Unavailable)
      error.message += "; or add --standalone, which starts one on this machine for this run alone";
  return errors;
}

/// Whether anything that the nodes offer decides about the job.
bool depends_on_nodes(const RunRequest& request, ShareRule rule) {
  return !request.devices || request.per_node_is != PerNode::Number ||
         (rule == ShareRule::WholeNode && (request.cpus.empty() || request.memory.empty()));
}

/// The first of NAME, NAME-2, NAME-3, ... that no job has. Empty where that was told.
std::string free_name(Session& session, const std::string& base) {
  const Result<HttpReply> known = session.client().send({.target = job_target(base)});
  if (!known) {
    session.tell(with_standalone(known.errors()));
    return "";
  }
  if (known->status == 404) return base;
  const json jobs = session.ask_list("jobs");
  if (jobs.is_null()) return "";
  std::set<std::string> names;
  for (const json& job : jobs) names.insert(text_of(job, "name"));
  int number = 2;
  while (names.contains(full_name(base + "-" + std::to_string(number)))) ++number;
  return base + "-" + std::to_string(number);
}

Result<JobSource> job_source(const RunRequest& request,
                             const RunPlan& plan,
                             Console* tells_warnings = nullptr) {
  JobSource out{.path = "orrery run", .text = run_job_file(request, plan), .sets = request.sets};
  scenarios::JobFileOptions options;
  options.other_priority_classes = true;
  for (const std::string& set : request.sets)
    options.overrides.push_back(*scenarios::parse_override(set));  // They were read before.
  auto file = scenarios::parse_job_file(out.text, out.path, options);
  if (!file) return file.errors();
  out.jobs = std::move(file->jobs);
  if (tells_warnings != nullptr) tells_warnings->warnings(file->warnings);
  return out;
}

std::string counted(std::int64_t count, const std::string& what, const char* many = "s") {
  return std::to_string(count) + " " + what + (count == 1 ? "" : many);
}

/// "4 processes, 2 on each of 2 nodes, 1 device each".
std::string size_text(const RunRequest& request, const RunPlan& plan) {
  const std::int64_t low = plan.world_min(request);
  const std::int64_t high = std::int64_t{request.nodes_max} * plan.per_node;
  std::string out = request.is_elastic()
                        ? std::to_string(low) + " to " + std::to_string(high) + " processes"
                        : counted(low, "process", "es");
  if (!request.is_elastic() && request.nodes_min > 1)
    out += ", " + std::to_string(plan.per_node) + " on each of " +
           std::to_string(request.nodes_min) + " nodes";
  if (plan.leaves_devices) out += ", without devices (--devices-per-proc takes some)";
  return out + (plan.devices > 0 ? ", " + counted(plan.devices, "device") + " each" : "");
}

/// Submits it under a name that is free; the full name, or empty where it was refused, which was
/// told.
std::string submit(const RunRequest& request, RunPlan& plan, Session& session) {
  for (int tried = 0; tried < kNamesTried; ++tried) {
    if (request.name_is_free) plan.name = free_name(session, request.name);
    if (plan.name.empty()) return "";
    const Result<JobSource> source = job_source(request, plan);
    if (!source) {
      session.tell(source.errors());
      return "";
    }
    const Result<HttpReply> reply = session.client().send(submission(*source));
    if (!reply) {
      session.tell(with_standalone(reply.errors()));
      return "";
    }
    if (reply->is_good()) return source->jobs.front().name;
    const bool taken = request.name_is_free && reply->status == 409;
    if (taken && tried + 1 < kNamesTried) continue;
    session.tell(*reply, "job " + source->jobs.front().name);
    return "";
  }
  return "";
}

RunMode mode_of(const Arguments& arguments) {
  return {.detach = arguments.has("--detach"), .as_json = arguments.has("--json")};
}

std::vector<NodeFacts> facts_in(const json& document) {
  std::vector<NodeFacts> out;
  for (const json& node : list_of(document, "nodes")) {
    const std::string state = text_of(node, "state");
    if (state != "ready" && state != "device_lost") continue;
    out.push_back({.devices = static_cast<std::int32_t>(number_of(node, "devices") -
                                                        number_of(node, "devices_lost")),
                   .cpu_millis = number_of(node, "cpu_millis"),
                   .memory_bytes = number_of(node, "memory_bytes")});
  }
  return out;
}

/// What the nodes of the cluster offer. Nothing where that failed, which was told.
std::optional<std::vector<NodeFacts>> node_facts(Session& session) {
  const Result<HttpReply> reply = session.client().send({.target = kNodes});
  if (!reply) {
    session.tell(with_standalone(reply.errors()));
    return std::nullopt;
  }
  if (reply->is_good()) return facts_in(json::parse(reply->body, nullptr, false));
  session.tell(*reply, "");
  return std::nullopt;
}

/// --dry-run, as far as it is known what it would be.
ExitCode print_for_cluster(const RunRequest& request,
                           const RunMode& mode,
                           const ClientOptions& options,
                           Console& console) {
  Session session(options, console);
  RunRequest named = request;
  std::vector<NodeFacts> nodes;
  if (const Result<HttpReply> reply = session.client().send({.target = kNodes})) {
    if (!reply->is_good()) return session.tell(*reply, "");
    nodes = facts_in(json::parse(reply->body, nullptr, false));
    if (request.name_is_free) named.name = free_name(session, request.name);
    if (named.name.empty()) return session.code();
  } else {
    console.err(
        "no controller answers: devices are not known, none are taken for granted; nor is the name "
        "known to be free\n");
  }
  return print_run(named, nodes, mode, console);
}

}  // namespace

void tell_notes(const RunRequest& request, Console& console) {
  for (const std::string& note : request.notes) console.err("orrery run: " + note + "\n");
}

ExitCode print_run(const RunRequest& request,
                   std::span<const NodeFacts> nodes,
                   const RunMode& mode,
                   Console& console) {
  const Result<RunPlan> plan = run_plan(request, nodes, mode.share);
  const Result<JobSource> source = plan ? job_source(request, *plan, &console) : plan.errors();
  if (!source) {
    console.errors(source.errors());
    return ExitCode::BadInput;
  }
  std::string text = source->text;
  for (const std::string& set : request.sets) text += "# and on submission --set " + set + "\n";
  console.out(mode.as_json
                  ? json{{"name", source->jobs.front().name}, {"file", text}}.dump(2) + "\n"
                  : text);
  return ExitCode::Met;
}

ExitCode run_job(const RunRequest& request,
                 const RunMode& mode,
                 Session& session,
                 const std::function<RunHost&()>& host) {
  std::vector<NodeFacts> nodes;
  if (depends_on_nodes(request, mode.share)) {
    auto facts = node_facts(session);
    if (!facts) return session.code();
    nodes = std::move(*facts);
  }
  Result<RunPlan> plan = run_plan(request, nodes, mode.share);
  if (!plan) return session.tell(plan.errors());
  // Before a name is asked for: what is wrong with the job is wrong under any.
  if (const auto source = job_source(request, *plan, &session.console()); !source)
    return session.tell(source.errors());
  RunHost* waits = mode.detach ? nullptr : &host();
  const std::string job = submit(request, *plan, session);
  if (job.empty()) return session.code();
  if (mode.detach) {
    session.console().out(mode.as_json ? json{{"name", job}}.dump() + "\n"
                                       : short_name(job) + ": submitted\n");
    return ExitCode::Met;
  }
  session.console().err(short_name(job) + ": submitted, " + size_text(request, *plan) + "\n");
  return RunFollowing(session,
                      *waits,
                      {.job = job,
                       .world_min = plan->world_min(request),
                       .max_restarts = request.max_restarts,
                       .view = {.filter = request.filter,
                                .per_node = plan->per_node,
                                .as_json = mode.as_json}})
      .run();
}

ExitCode run_on_cluster(const RunRequest& request, const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  const RunMode mode = mode_of(arguments);
  if (arguments.has("--dry-run")) return print_for_cluster(request, mode, *options, console);
  Session session(*options, console);
  std::optional<TerminalHost> terminal;
  return run_job(request, mode, session, [&]() -> RunHost& { return terminal.emplace(); });
}

}  // namespace orrery::cli
