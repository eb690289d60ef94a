// apply: what is new is submitted, what is equal let be, what differs in replicas only is scaled.
#include <nlohmann/json.hpp>

#include "core/record/record_text.hpp"
#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

json as_json(const JobSpec& spec) {
  JsonText text;
  JsonFields(text).put(spec);
  return json::parse(text.text());
}

/// The specification without the numbers that scaling changes.
json without_replicas(json spec) {
  for (json& role : spec["roles"]) {
    role.erase("min_replicas");
    role.erase("max_replicas");
  }
  return spec;
}

bool is_fixed(const json& role) {
  return number_of(role, "min_replicas") == number_of(role, "max_replicas");
}

class Apply {
 public:
  Apply(Session& session, bool as_json) : session_(session), as_json_(as_json) {}

  void job(const JobSource& source, const JobSpec& spec) {
    const Result<HttpReply> found = session_.client().send({.target = job_target(spec.name)});
    if (!found) {
      session_.tell(found.errors());
      return;
    }
    if (found->status == 404) {
      submit(source, spec);
      return;
    }
    if (!found->is_good()) {
      session_.tell(*found, "job " + spec.name);
      return;
    }
    compare(spec, json::parse(found->body, nullptr, false));
  }

  json take_results() { return std::move(results_); }

 private:
  void submit(const JobSource& source, const JobSpec& spec) {
    if (session_.ask(submission(source, spec.name), "job " + spec.name).is_object())
      done(spec, "submitted", "");
  }

  void compare(const JobSpec& spec, const json& job) {
    const json wanted = as_json(spec);
    const json& running = member_of(job, "spec");
    if (wanted == running) {
      done(spec, "unchanged", text_of(job, "phase"));
    } else if (const std::string phase = text_of(job, "phase");
               phase == "Succeeded" || phase == "Failed") {
      differs(spec, "differs from the file and has ended (" + phase + ")");
    } else if (!running.is_object() || without_replicas(wanted) != without_replicas(running)) {
      differs(spec, "differs from the file in more than replicas");
    } else {
      scale(spec, wanted, running);
    }
  }

  void scale(const JobSpec& spec, const json& wanted, const json& running) {
    const json& roles = list_of(wanted, "roles");
    for (std::size_t at = 0; at < roles.size(); ++at) {
      const json& before = list_of(running, "roles")[at];
      if (roles[at] == before) continue;
      const std::string name = text_of(roles[at], "name");
      if (!is_fixed(roles[at]) || !is_fixed(before)) {
        differs(spec, "role " + name + " has other bounds of replicas than the file");
        continue;
      }
      const std::int64_t replicas = number_of(roles[at], "min_replicas");
      const HttpRequest request{.method = "POST",
                                .target = job_target(spec.name, "/scale"),
                                .body = json{{"role", name}, {"replicas", replicas}}.dump()};
      if (session_.ask(request, "job " + spec.name).is_object())
        done(spec, "scaled", name + " to " + std::to_string(replicas));
    }
  }

  void differs(const JobSpec& spec, const std::string& how) {
    session_.console().err("job " + spec.name + ": " + how +
                           ", needed an equal one or none; orrery delete " + short_name(spec.name) +
                           ", then apply again\n");
    session_.note(ExitCode::Unmet);
    results_.push_back({{"name", spec.name}, {"result", "differs"}, {"detail", how}});
  }

  void done(const JobSpec& spec, const std::string& result, const std::string& detail) {
    results_.push_back({{"name", spec.name}, {"result", result}, {"detail", detail}});
    if (as_json_) return;
    session_.console().out(short_name(spec.name) + ": " + result +
                           (detail.empty() ? "" : " (" + detail + ")") + "\n");
  }

  Session& session_;
  bool as_json_;
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
  for (const Error& warning : warnings) console.err("warning: " + warning.text() + "\n");
  Session session(*options, console);
  Apply apply(session, arguments.has("--json"));
  for (const JobSource& source : *sources)
    for (const JobSpec& spec : source.jobs) {
      apply.job(source, spec);
      if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted)
        return session.code();
    }
  if (arguments.has("--json")) console.out(json{{"jobs", apply.take_results()}}.dump(2) + "\n");
  return session.code();
}

}  // namespace orrery::cli
