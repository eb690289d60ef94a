// get, describe: what there is.
#include <nlohmann/json.hpp>

#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

/// What may be listed.
struct Listed {
  const char* one;
  const char* many;
  const char* none;  ///< What is said where there are none.
};

constexpr Listed kJobs{"job", "jobs", "no jobs yet; submit one with orrery submit FILE\n"};
constexpr Listed kNodes{"node", "nodes", "no nodes yet: no agent has joined\n"};
constexpr Listed kQueues{
    "queue", "queues", "no queues stand in front of the policy; docs/queues.md says how\n"};

void tell_unknown(Session& session, const Listed& what, const std::string& name) {
  session.console().err(std::string(what.one) + " " + name + ": unknown; orrery get " + what.many +
                        " lists what there is\n");
  session.note(ExitCode::Unmet);
}

/// The elements named in `names`, in that order; all where none is named. Of jobs one name may have
/// several, which come as they are listed. Tells what is unknown.
json chosen(Session& session,
            const json& all,
            const std::vector<std::string>& names,
            const Listed& what) {
  if (names.empty()) return all;
  const bool jobs = what.many == kJobs.many;
  json out = json::array();
  for (const std::string& given : names) {
    const std::string name = jobs ? full_name(given) : given;
    const std::size_t before = out.size();
    for (const json& each : all)
      if (text_of(each, "name") == name) out.push_back(each);
    if (out.size() == before) tell_unknown(session, what, name);
  }
  return out;
}

/// The newest jobs of these names, each asked for by itself: a controller may list thousands. Null
/// where that fails. Tells what is unknown.
json named_jobs(Session& session, const std::vector<std::string>& names) {
  json out = json::array();
  for (const std::string& name : names) {
    const Result<HttpReply> reply = session.client().send({.target = job_target(name)});
    if (reply && reply->status == 404) {
      tell_unknown(session, kJobs, full_name(name));
      continue;
    }
    json job = session.read(reply, "job " + full_name(name));
    if (job.is_null()) return nullptr;
    for (const char* beyond_a_list : {"members", "spec", "events"}) job.erase(beyond_a_list);
    out.push_back(std::move(job));
  }
  return out;
}

std::string names_of(const json& list, bool jobs) {
  std::string out;
  for (const json& each : list)
    out += (jobs ? short_name(text_of(each, "name")) : text_of(each, "name")) + "\n";
  return out;
}

/// What the failed ones of some jobs died of.
std::string failures_of(const json& jobs) {
  std::string out;
  for (const json& job : jobs) {
    const std::string text = text_of(job, "phase") == "Failed" ? failure_text(job) : "";
    if (!text.empty()) out += "\n" + short_name(text_of(job, "name")) + " failed:\n" + text;
  }
  return out;
}

}  // namespace

ExitCode run_get(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  std::vector<std::string> names = arguments.operands();
  Listed what = kJobs;
  if (!names.empty())
    for (const Listed& each : {kJobs, kNodes, kQueues})
      if (names[0] == each.one || names[0] == each.many) {
        what = each;
        names.erase(names.begin());
        break;
      }
  const bool jobs = what.many == kJobs.many;
  Session session(*options, console);
  const bool history = arguments.has("--all") && jobs;
  const bool one_by_one = jobs && !history && !names.empty();
  const json all =
      one_by_one ? named_jobs(session, names) : session.ask_list(what.many, history ? "all=1" : "");
  if (all.is_null()) return session.code();
  const json list = one_by_one ? all : chosen(session, all, names, what);
  if (arguments.has("--json")) {
    console.out(json{{what.many, list}}.dump(2) + "\n");
  } else if (arguments.has("--names")) {
    console.out(names_of(list, jobs));
  } else if (list.empty() && names.empty()) {
    console.err(what.none);
  } else if (!list.empty()) {
    console.out(jobs                       ? jobs_table(list, console.traits(), history)
                : what.many == kNodes.many ? nodes_table(list, console.traits())
                                           : queues_table(list, console.traits()));
    // A user that asks for a job by name wants to know why it failed.
    if (jobs && !names.empty()) console.out(failures_of(list));
  }
  return session.code();
}

ExitCode run_describe(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  constexpr std::string_view kNode = "node/";
  constexpr std::string_view kJob = "job/";
  std::string_view name = arguments.operands().front();
  const bool node = name.starts_with(kNode);
  if (node) name.remove_prefix(kNode.size());
  if (name.starts_with(kJob)) name.remove_prefix(kJob.size());
  Session session(*options, console);
  const json document = node ? session.ask({.target = "/api/v1/nodes/" + url_escaped(name)},
                                           "node " + std::string(name))
                             : session.ask({.target = job_target(name)}, "job " + full_name(name));
  if (document.is_null()) return session.code();
  if (arguments.has("--json")) {
    console.out(document.dump(2) + "\n");
  } else {
    console.out(node ? node_page(document, console.traits())
                     : job_page(document, console.traits()));
  }
  return session.code();
}

}  // namespace orrery::cli
