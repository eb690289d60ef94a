#include "runtime/http/di_api.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/number_text.hpp"
#include "runtime/http/body_fields.hpp"
#include "runtime/http/job_json.hpp"
#include "runtime/http/profilings.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;

/// "namespace.name" or "namespace.name.generation".
struct DiJobId {
  std::string name;  ///< With its namespace.
  std::optional<std::uint32_t> generation;
};

std::optional<DiJobId> read_id(const std::string& text) {
  const std::size_t first = text.find('.');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t second = text.find('.', first + 1);
  DiJobId out{text.substr(0, second), std::nullopt};
  if (first == 0 || out.name.size() == first + 1) return std::nullopt;
  if (second == std::string::npos) return out;
  out.generation = parsed_number<std::uint32_t>(std::string_view(text).substr(second + 1));
  if (!out.generation) return std::nullopt;
  return out;
}

// Answers 200 with `data`: JSON text.
void succeed(const CallPtr& call, const std::string& data) {
  JsonText json;
  json.begin_object().field("success", true).field("code", 0).field("message", "");
  json.key("data").raw(data).end_object();
  call->exchange->respond(json_response(json.take()));
}

// A worker that a rescale left running knows the generation of its start for ever: so long as one
// such lives, requests of that generation are its own.
bool speaks_for(const Request& request, const JobState& job, std::uint32_t generation) {
  if (generation == job.row.generation.value) return true;
  if (!request.header(kWorkerHeader).empty()) return asking_worker(request, job) != nullptr;
  return std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
    return worker.is_alive() && worker.born.value == generation;
  });
}

// Whether the generation of the id may ask; answers 409 where it may not.
bool is_current(const CallPtr& call, const DiJobId& id, const JobState& job) {
  if (!id.generation || speaks_for(call->request, job, *id.generation)) return true;
  fail(call,
       409,
       id.name + " is at generation " + std::to_string(job.row.generation.value) + ", not " +
           std::to_string(*id.generation) + "; ask with the current one");
  return false;
}

using Find = std::function<Then(const ControlView&, const JobState&)>;

// The id of the path; nothing where the call was answered: it is none, or the query is unsound.
std::optional<DiJobId> id_of(const CallPtr& call) {
  if (!query_is_sound(call, "")) return std::nullopt;
  std::optional<DiJobId> id = read_id(call->value("id"));
  if (!id)
    fail(call,
         400,
         "'" + call->value("id") +
             "' is no job id, NAMESPACE.NAME or NAMESPACE.NAME.GENERATION is needed");
  return id;
}

// Looks at the job of the id.
void with_job(const CallPtr& call, const ControlClient& client, Find find) {
  const std::optional<DiJobId> id = id_of(call);
  if (!id) return;
  client.look_at_job(
      call,
      id->name,
      [call, id, find = std::move(find)](const ControlView& view, const JobState& job) -> Then {
        return is_current(call, *id, job) ? find(view, job) : Then{};
      });
}

// --- replicas ---

void get_replicas(const CallPtr& call, const ControlClient& client) {
  with_job(call, client, [call](const ControlView& view, const JobState& job) -> Then {
    JsonText json;
    if (job.workers.empty()) {
      json.null();
    } else {
      json.begin_array();
      for (const Worker& worker : job.workers) json.value(worker_address(view, worker));
      json.end_array();
    }
    return [call, data = json.take()] { succeed(call, data); };
  });
}

// Workers of a virtual cluster are as many as its bundles, whatever is asked for.
bool is_fixed_by_placement(const JobState& job) {
  return std::any_of(job.spec->roles.begin(), job.spec->roles.end(), [](const RoleSpec& role) {
    return role.workers.is_set();
  });
}

void change_replicas(const CallPtr& call, const ControlClient& client, ScaleMode mode) {
  with_job(call, client, [=](const ControlView&, const JobState& job) -> Then {
    Result<BodyFields> body = BodyFields::read(call->request.body);
    std::optional<std::int64_t> replicas;
    Errors errors;
    if (body) {
      replicas = body->take_number("replicas", 1, kReplicasMax);
      errors = body->errors("replicas");
      if (errors.empty() && !replicas)
        errors.push_back({ErrorCode::InvalidInput,
                          {},
                          0,
                          "body",
                          R"(there is no "replicas", send {"replicas": NUMBER})"});
    } else {
      errors = body.errors();
    }
    if (!errors.empty()) {
      fail(call, 400, errors);
      return {};
    }
    const bool conflict = is_final(job.row.phase) || is_fixed_by_placement(job);
    const ScaleRequested request{
        0, job.row.id, RoleIndex::none(), mode, static_cast<std::int32_t>(*replicas), true};
    return [=] {
      client.ask_once(call, request, [=](const RequestOutcome& outcome) {
        if (outcome.kind == RequestOutcome::Kind::Refused)
          return fail(call, conflict ? 409 : 400, outcome.message);
        succeed(call, "null");
      });
    };
  });
}

// --- profilings ---

void get_di_profilings(const CallPtr& call, const ControlClient& client) {
  with_job(call, client, [call](const ControlView&, const JobState& job) -> Then {
    return [call, numbers = latest_profilings(job)] { succeed(call, numbers_json(numbers)); };
  });
}

void add_profilings(const CallPtr& call, const ControlClient& client) {
  const std::optional<DiJobId> id = id_of(call);
  if (!id) return;
  post_profilings(
      call,
      client,
      id->name,
      [call, id](const JobState& job) { return is_current(call, *id, job); },
      [call] { succeed(call, "null"); });
}

}  // namespace

void add_di_api(Router& router, const ControlClient& client) {
  for (const std::string prefix : {"/v2alpha1/{id}", "/v2alpha1/job/{id}"}) {
    router.add_for_workers("GET", prefix + "/replicas", Role::User, [=](const CallPtr& call) {
      get_replicas(call, client);
    });
    router.add_for_workers("POST", prefix + "/replicas", Role::User, [=](const CallPtr& call) {
      change_replicas(call, client, ScaleMode::Add);
    });
    router.add_for_workers("DELETE", prefix + "/replicas", Role::User, [=](const CallPtr& call) {
      change_replicas(call, client, ScaleMode::Remove);
    });
    router.add_for_workers("GET", prefix + "/profilings", Role::Agent, [=](const CallPtr& call) {
      get_di_profilings(call, client);
    });
    router.add_for_workers("POST", prefix + "/profilings", Role::Agent, [=](const CallPtr& call) {
      add_profilings(call, client);
    });
  }
}

}  // namespace orrery::http
