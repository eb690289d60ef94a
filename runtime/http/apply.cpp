#include "runtime/http/apply.hpp"

#include <utility>

#include "core/base/json_text.hpp"
#include "core/control/job_changes.hpp"
#include "core/control/requests.hpp"
#include "core/job/phase.hpp"
#include "runtime/http/submission.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;

/// What became of one job.
struct Applied {
  std::string name;
  std::string result;  ///< submitted, changed, unchanged, differs, refused
  std::string detail;

  bool is_good() const { return result != "differs" && result != "refused"; }
};

/// One request on its way.
struct Application {
  CallPtr call;
  ControlClient client;
  WantedJobs wanted;
  std::vector<Applied> done;

  const std::shared_ptr<const JobSpec>& spec() const { return wanted.specs[done.size()]; }

  void note(std::string result, std::string detail = {}) {
    const std::string name = spec()->name;
    // The core names the job too.
    if (detail.starts_with(name + ": ")) detail.erase(0, name.size() + 2);
    done.push_back({name, std::move(result), std::move(detail)});
  }
};

using ApplicationPtr = std::shared_ptr<Application>;

void answer(const Application& application) {
  std::vector<std::string> wrong;
  for (const Applied& job : application.done)
    if (!job.is_good()) wrong.push_back(job.name + ": " + job.detail);
  JsonText json;
  json.begin_object();
  if (!wrong.empty()) {
    json.key("error").begin_object().field("message", wrong.front()).key("details").begin_array();
    for (const std::string& line : wrong) json.value(line);
    json.end_array().end_object();
  }
  json.key("jobs").begin_array();
  for (const Applied& job : application.done)
    json.begin_object()
        .field("name", job.name)
        .field("result", job.result)
        .field("detail", job.detail)
        .end_object();
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : application.wanted.warnings) json.value(warning);
  json.end_array().end_object();
  application.call->exchange->respond(json_response(json.take(), wrong.empty() ? 200 : 409));
}

std::string replicas_text(const RoleSpec& role) {
  return role.is_elastic()
             ? std::to_string(role.min_replicas) + " to " + std::to_string(role.max_replicas)
             : std::to_string(role.min_replicas);
}

// "priority, roles.main.replicas (2, then 4)".
std::string changes_text(const std::vector<SpecChange>& changes,
                         const JobSpec& has,
                         const JobSpec& wanted) {
  std::string out;
  for (const SpecChange& change : changes) {
    out += (out.empty() ? "" : ", ") + change.field;
    for (std::size_t r = 0; r < has.roles.size(); ++r)
      if (change.field == "roles." + has.roles[r].name + ".replicas")
        out += " from " + replicas_text(has.roles[r]) + " to " + replicas_text(wanted.roles[r]);
  }
  return out;
}

void apply_next(const ApplicationPtr& application);

// Asks, unless nothing is to be changed; then goes on with the next job.
void ask(const ApplicationPtr& application,
         EventBody request,
         const std::string& result,
         const std::string& detail) {
  if (application->wanted.dry) {
    application->note(result, detail);
    return apply_next(application);
  }
  application->client.ask(
      application->call, std::move(request), [=](const RequestOutcome& outcome) {
        const bool taken = outcome.kind == RequestOutcome::Kind::Accepted;
        application->note(taken ? result : "refused", taken ? detail : outcome.message);
        apply_next(application);
      });
}

Then submit_it(const ApplicationPtr& application, const ControlView& view) {
  if (const std::string why = why_refused(view.state, application->spec()); !why.empty())
    return [=] {
      application->note("refused", why);
      apply_next(application);
    };
  return [=] {
    const WantedJobs& wanted = application->wanted;
    const std::uint64_t number =
        wanted.key.empty() ? 0 : request_number(wanted.key, application->done.size());
    ask(application, JobSubmitted{number, application->spec(), wanted.user}, "submitted", "");
  };
}

Then leave_it(const ApplicationPtr& application, std::string result, std::string detail) {
  return [=] {
    application->note(result, detail);
    apply_next(application);
  };
}

// What is to be done with a job of the name.
Then compare(const ApplicationPtr& application, const ControlView& view, const JobState& job) {
  const JobSpec has = effective_spec(job, *application->spec());
  const std::vector<SpecChange> changes = changes_between(has, *application->spec());
  const std::string phase(to_string(job.row.phase));
  if (changes.empty()) return leave_it(application, "unchanged", phase);
  const std::string fields = changes_text(changes, has, *application->spec());
  if (is_final(job.row.phase))
    return leave_it(application,
                    "differs",
                    "has ended (" + phase + ") and differs in " + fields +
                        "; orrery submit runs it once more as the file says");
  std::string fixed;
  for (const SpecChange& change : changes)
    if (!change.in_place) fixed += (fixed.empty() ? "" : ", ") + change.field;
  if (!fixed.empty())
    return leave_it(application,
                    "differs",
                    "differs in " + fixed +
                        ", which cannot change while it lives; delete it, then apply again");
  if (const std::string why = why_not_changed(view.state, job, *application->spec()); !why.empty())
    return leave_it(application, "refused", why);
  return [=, id = job.row.id] {
    ask(application, JobChanged{0, id, application->spec()}, "changed", fields);
  };
}

// "unchanged" is a promise as "submitted" is: what it tells of must not be lost with this process.
void finish(const ApplicationPtr& application) {
  if (application->wanted.dry) return answer(*application);
  application->client.settle(application->call, [application] { answer(*application); });
}

void apply_next(const ApplicationPtr& application) {
  if (application->done.size() == application->wanted.specs.size()) return finish(application);
  application->client.look(application->call, [application](const ControlView& view) -> Then {
    const JobState* job = view.state.find(view.state.named(application->spec()->name));
    if (job == nullptr || job->deleted) return submit_it(application, view);
    return compare(application, view, *job);
  });
}

}  // namespace

void apply_jobs(const CallPtr& call, const ControlClient& client, WantedJobs wanted) {
  apply_next(std::make_shared<Application>(Application{call, client, std::move(wanted), {}}));
}

}  // namespace orrery::http
