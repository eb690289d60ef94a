#include "runtime/http/apply.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/control/job_changes.hpp"
#include "core/control/requests.hpp"
#include "core/job/phase.hpp"
#include "runtime/http/request_batch.hpp"
#include "runtime/http/submission.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;

/// What became of one job, or shall once `request` is taken.
struct Applied {
  std::string name;
  std::string result;  ///< submitted, changed, unchanged, differs, refused
  std::string detail;
  std::optional<EventBody> request;

  bool is_good() const { return result != "differs" && result != "refused"; }
};

/// One request on its way.
struct Application {
  CallPtr call;
  ControlClient client;
  WantedJobs wanted;
  std::vector<Applied> jobs;  ///< As `wanted.specs`, once the controller was looked at.
};

using ApplicationPtr = std::shared_ptr<Application>;

Applied refused(const std::string& name, std::string why) {
  // The core names the job too.
  if (why.starts_with(name + ": ")) why.erase(0, name.size() + 2);
  return {name, "refused", std::move(why), std::nullopt};
}

void answer(const Application& application) {
  std::vector<std::string> wrong;
  for (const Applied& job : application.jobs)
    if (!job.is_good()) wrong.push_back(job.name + ": " + job.detail);
  JsonText json;
  json.begin_object();
  if (!wrong.empty()) {
    json.key("error").begin_object().field("message", wrong.front()).key("details").begin_array();
    for (const std::string& line : wrong) json.value(line);
    json.end_array().end_object();
  }
  json.key("jobs").begin_array();
  for (const Applied& job : application.jobs)
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

Applied submitted(const WantedJobs& wanted, std::size_t index, const ControlView& view) {
  const auto& spec = wanted.specs[index];
  if (std::string why = why_refused(view.state, spec); !why.empty())
    return refused(spec->name, std::move(why));
  const std::uint64_t number = wanted.key.empty() ? 0 : request_number(wanted.key, index);
  return {spec->name, "submitted", "", JobSubmitted{number, spec, wanted.user}};
}

// What is to be done with a job of the name.
Applied compared(const std::shared_ptr<const JobSpec>& spec,
                 const ControlView& view,
                 const JobState& job) {
  const auto left = [&](std::string result, std::string detail) {
    return Applied{spec->name, std::move(result), std::move(detail), std::nullopt};
  };
  const JobSpec has = effective_spec(job, *spec);
  const std::vector<SpecChange> changes = changes_between(has, *spec);
  const std::string phase(to_string(job.row.phase));
  if (changes.empty()) return left("unchanged", phase);
  const std::string fields = changes_text(changes, has, *spec);
  if (is_final(job.row.phase))
    return left("differs",
                "has ended (" + phase + ") and differs in " + fields +
                    "; orrery submit runs it once more as the file says");
  std::string fixed;
  for (const SpecChange& change : changes)
    if (!change.in_place) fixed += (fixed.empty() ? "" : ", ") + change.field;
  if (!fixed.empty())
    return left("differs",
                "differs in " + fixed +
                    ", which cannot change while it lives; delete it, then apply again");
  if (std::string why = why_not_changed(view.state, job, *spec); !why.empty())
    return refused(spec->name, std::move(why));
  return {spec->name, "changed", fields, JobChanged{0, job.row.id, spec}};
}

// "unchanged" is a promise as "submitted" is: what it tells of must not be lost with this process.
void finish(const ApplicationPtr& application) {
  if (application->wanted.dry) return answer(*application);
  application->client.settle(application->call, [application] { answer(*application); });
}

void ask(const ApplicationPtr& application) {
  std::vector<EventBody> requests;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < application->jobs.size(); ++i) {
    auto& request = application->jobs[i].request;
    if (!request) continue;
    requests.push_back(std::move(*request));
    of.push_back(i);
  }
  ask_all(application->client,
          std::move(requests),
          BatchEnds::WhenUnavailable,
          [application, of](const std::vector<RequestOutcome>& outcomes) {
            for (std::size_t i = 0; i < outcomes.size(); ++i) {
              const RequestOutcome& outcome = outcomes[i];
              if (outcome.kind == RequestOutcome::Kind::Unavailable)
                return fail(application->call, 503, outcome.message);
              Applied& job = application->jobs[of[i]];
              if (outcome.kind == RequestOutcome::Kind::Refused)
                job = refused(job.name, outcome.message);
            }
            finish(application);
          });
}

}  // namespace

void apply_jobs(const CallPtr& call, const ControlClient& client, WantedJobs wanted) {
  const auto application =
      std::make_shared<Application>(Application{call, client, std::move(wanted), {}});
  const auto look = [application](const ControlView& view, std::size_t i) {
    const WantedJobs& jobs = application->wanted;
    const JobState* job = view.state.find(view.state.named(jobs.specs[i]->name));
    application->jobs.push_back(job == nullptr || job->deleted
                                    ? submitted(jobs, i, view)
                                    : compared(jobs.specs[i], view, *job));
  };
  look_at_all(client, call, application->wanted.specs.size(), look, [application] {
    if (application->wanted.dry) return finish(application);
    ask(application);
  });
}

}  // namespace orrery::http
