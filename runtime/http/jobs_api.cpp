#include "runtime/http/jobs_api.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/control/queue_standings.hpp"
#include "runtime/http/body_fields.hpp"
#include "runtime/http/job_json.hpp"
#include "runtime/http/submission.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;

constexpr std::size_t kEventsOfJob = 20;
constexpr std::uint64_t kJobsMax = 10'000;

// --- lists ---

/// Which jobs a list has.
struct JobFilter {
  std::string name_space;
  std::string group;
  std::optional<JobPhase> phase;
  std::vector<std::pair<std::string, std::string>> labels;
  bool all = false;  ///< Also those whose name a younger job has.
  std::uint64_t limit = 1000;
  std::optional<std::uint64_t> after;  ///< Number of a job.

  bool takes(const State& state, const JobState& job) const {
    const JobSpec& spec = *job.spec;
    if (job.is_forgotten() || (!all && state.named(spec.name) != job.row.id)) return false;
    if (after && job.row.id.value <= *after) return false;
    if (!name_space.empty() && namespace_of(spec.name) != name_space) return false;
    if (!group.empty() && *spec.group != group) return false;
    if (phase && job.row.phase != *phase) return false;
    return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      return std::any_of(spec.labels.begin(), spec.labels.end(), [&](const KeyValue& has) {
        return has.key == label.first && has.value == label.second;
      });
    });
  }
};

// False where the call was answered: the query is not sound.
bool read_filter(const CallPtr& call, JobFilter& filter) {
  Query& query = call->query;
  filter.name_space = query.take("namespace").value_or("");
  filter.group = query.take("group").value_or("");
  filter.all = query.take_flag("all");
  filter.limit = query.take_number("limit", filter.limit, 1, kJobsMax);
  if (const std::uint64_t after = query.take_number("after", UINT64_MAX, 0, UINT32_MAX);
      after != UINT64_MAX)
    filter.after = after;
  for (const std::string& label : query.take_all("label")) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(call,
           400,
           "query label: found '" + label +
               "', KEY=VALUE is needed; write for example label=team=rl");
      return false;
    }
    filter.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  if (const std::optional<std::string> phase = query.take("phase")) {
    filter.phase = enum_from<JobPhase>(*phase);
    if (!filter.phase) {
      fail(
          call,
          400,
          "query phase: found '" + *phase + "', one of " + enum_choices<JobPhase>() + " is needed");
      return false;
    }
  }
  return query_is_sound(call, "namespace, group, phase, label (KEY=VALUE), all, limit, after");
}

void answer_list(const CallPtr& call, const std::vector<JobSnapshot>& jobs, bool more) {
  JsonText json;
  json.begin_object().key("jobs").begin_array();
  for (const JobSnapshot& job : jobs) write_job(json, job);
  json.end_array().key("next");
  if (more) {
    json.value(jobs.back().id.value);
  } else {
    json.null();
  }
  json.end_object();
  call->exchange->respond(json_response(json.take()));
}

// What was foretold of jobs that wait still.
void add_expected(std::vector<JobSnapshot>& jobs, const runtime::Forecasts* forecasts) {
  const auto known = forecasts == nullptr ? nullptr : forecasts->latest();
  if (known == nullptr) return;
  for (JobSnapshot& job : jobs) {
    const auto found = known->starts.find(job.id);
    if (found == known->starts.end() || job.status.phase != JobPhase::Pending) continue;
    job.expected_start = found->second;
    job.expected_as_of = known->answer->now;
  }
}

void list(const CallPtr& call, const ControlClient& client, const runtime::Forecasts* forecasts) {
  JobFilter filter;
  if (!read_filter(call, filter)) return;
  client.look(call, [call, filter, forecasts](const ControlView& view) -> Then {
    std::vector<JobSnapshot> jobs;
    bool more = false;
    const QueueStandings queues(view.state);
    view.state.for_each_job([&](const JobState& job) {
      if (more || !filter.takes(view.state, job)) return;
      more = jobs.size() == filter.limit;
      if (!more) jobs.push_back(take_snapshot(view, job, false, &queues));
    });
    return [call, jobs = std::move(jobs), more, forecasts]() mutable {
      add_expected(jobs, forecasts);
      answer_list(call, jobs, more);
    };
  });
}

void get(const CallPtr& call,
         const ControlClient& client,
         const std::shared_ptr<EventFeed>& feed,
         const runtime::Forecasts* forecasts) {
  if (!query_is_sound(call, "")) return;
  client.look_at_job(
      call, call->value("job"), [=](const ControlView& view, const JobState& job) -> Then {
        return [=, known = std::vector{take_snapshot(view, job, true)}]() mutable {
          add_expected(known, forecasts);
          const JobSnapshot& snapshot = known.front();
          const auto events = feed->latest({snapshot.status.name, 0}, kEventsOfJob);
          call->exchange->respond(json_response(job_json(snapshot, events)));
        };
      });
}

// --- changes ---

void answer_name(const CallPtr& call, const std::string& name) {
  JsonText json;
  json.begin_object().field("name", name).end_object();
  call->exchange->respond(json_response(json.take()));
}

// Asks for a change of one job; a refusal is a conflict with its state.
template <class MakeRequest>
void change(const CallPtr& call, const ControlClient& client, MakeRequest make) {
  client.look_at_job(
      call, call->value("job"), [=](const ControlView&, const JobState& job) -> Then {
        const std::string name = job.spec->name;
        return [=, id = job.row.id] {
          client.ask(call, make(id), [call, name](const RequestOutcome& outcome) {
            if (outcome.kind == RequestOutcome::Kind::Refused)
              return fail(call, 409, outcome.message);
            answer_name(call, name);
          });
        };
      });
}

// Deletes the jobs of a name, the oldest first: nothing is left of it then. `ids` is not empty.
void delete_all(const CallPtr& call,
                const ControlClient& client,
                const std::string& name,
                std::vector<JobId> ids) {
  const JobId id = ids.back();
  ids.pop_back();
  client.ask(call, DeleteRequested{0, id}, [=](const RequestOutcome& outcome) {
    if (!ids.empty())
      return delete_all(call, client, name, ids);  // An old one may have gone itself.
    // It went between the look and the request: the answer is that of a moment later.
    if (outcome.kind == RequestOutcome::Kind::Refused) return fail_without_job(call, name);
    answer_name(call, name);
  });
}

void delete_job(const CallPtr& call, const ControlClient& client) {
  if (!query_is_sound(call, "")) return;
  client.look_at_job(
      call, call->value("job"), [=](const ControlView& view, const JobState& job) -> Then {
        std::vector<JobId> ids;
        for (const JobState* each = &job; each != nullptr; each = view.state.find(each->before))
          ids.push_back(each->row.id);
        return [=, name = job.spec->name] { delete_all(call, client, name, ids); };
      });
}

struct ScaleWish {
  std::string role;  ///< Empty: every role.
  ScaleMode mode = ScaleMode::Set;
  std::int32_t replicas = 0;
};

// False where the call was answered: the body is not sound.
bool read_scale(const CallPtr& call, ScaleWish& wish) {
  Result<BodyFields> body = BodyFields::read(call->request.body);
  if (!body) {
    fail(call, 400, body.errors());
    return false;
  }
  wish.role = body->take_text("role").value_or("");
  int ways = 0;
  const std::pair<const char*, ScaleMode> numbers[] = {
      {"replicas", ScaleMode::Set}, {"add", ScaleMode::Add}, {"remove", ScaleMode::Remove}};
  for (const auto& [name, mode] : numbers) {
    const std::optional<std::int64_t> replicas = body->take_number(name, 1, kReplicasMax);
    if (!replicas) continue;
    ++ways;
    wish.mode = mode;
    wish.replicas = static_cast<std::int32_t>(*replicas);
  }
  if (body->take_flag("clear")) {
    ++ways;
    wish.mode = ScaleMode::Clear;
  }
  Errors errors = body->errors("role, and one of replicas, add, remove, clear");
  if (errors.empty() && ways != 1)
    errors.push_back(
        {ErrorCode::InvalidInput,
         {},
         0,
         "body",
         std::to_string(ways) + " ways to scale, one of replicas, add, remove, clear is needed"});
  if (errors.empty()) return true;
  fail(call, 400, errors);
  return false;
}

void scale(const CallPtr& call, const ControlClient& client) {
  ScaleWish wish;
  if (!query_is_sound(call, "") || !read_scale(call, wish)) return;
  client.look_at_job(
      call, call->value("job"), [=](const ControlView&, const JobState& job) -> Then {
        ScaleRequested request{0, job.row.id, RoleIndex::none(), wish.mode, wish.replicas, true};
        std::string roles;
        for (std::size_t r = 0; r < job.role_count(); ++r) {
          const std::string& name = job.spec->roles[r].name;
          roles += (r == 0 ? "" : ", ") + name;
          if (name == wish.role) request.role = RoleIndex{static_cast<std::uint16_t>(r)};
        }
        if (!wish.role.empty() && request.role.is_none()) {
          fail(
              call, 400, job.spec->name + " has no role " + wish.role + ", its roles are " + roles);
          return {};
        }
        const bool over = is_final(job.row.phase);
        return [=, name = job.spec->name] {
          client.ask_once(call, request, [=](const RequestOutcome& outcome) {
            if (outcome.kind == RequestOutcome::Kind::Refused)
              return fail(call, over ? 409 : 400, outcome.message);
            answer_name(call, name);
          });
        };
      });
}

}  // namespace

void add_jobs_api(Router& router,
                  const ControlClient& client,
                  const std::shared_ptr<EventFeed>& feed,
                  const std::shared_ptr<TextReader>& reader,
                  const runtime::Forecasts* forecasts) {
  router.add(
      "GET", "/api/v1/jobs", Role::User, [=](CallPtr call) { list(call, client, forecasts); });
  router.add(
      "POST", "/api/v1/jobs", Role::User, [=](CallPtr call) { submit(call, client, reader); });
  router.add("GET", "/api/v1/jobs/{job}", Role::User, [=](CallPtr call) {
    get(call, client, feed, forecasts);
  });
  router.add(
      "DELETE", "/api/v1/jobs/{job}", Role::User, [=](CallPtr call) { delete_job(call, client); });
  router.add("POST", "/api/v1/jobs/{job}/stop", Role::User, [=](CallPtr call) {
    if (query_is_sound(call, ""))
      change(call, client, [](JobId id) { return StopRequested{0, id}; });
  });
  router.add(
      "POST", "/api/v1/jobs/{job}/scale", Role::User, [=](CallPtr call) { scale(call, client); });
}

}  // namespace orrery::http
