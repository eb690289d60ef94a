#include "runtime/http/members_api.hpp"

#include "core/record/record_text.hpp"
#include "runtime/http/job_json.hpp"
#include "runtime/http/profilings.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using Then = ControlClient::Then;

constexpr std::uint64_t kTimeout = 30;  // Seconds.
constexpr std::uint64_t kTimeoutMax = 600;

void members(const CallPtr& call, const ControlClient& client, MembershipPolls& polls) {
  constexpr std::uint64_t kNotAsked = UINT64_MAX;
  const std::uint64_t generation = call->query.take_number("generation", kNotAsked, 0, UINT32_MAX);
  const std::uint64_t timeout = call->query.take_number("timeout_s", kTimeout, 0, kTimeoutMax);
  if (!query_is_sound(call, "generation, timeout_s")) return;
  if (generation != kNotAsked && timeout > 0)
    return polls.wait(call,
                      full_job_name(call->value("job")),
                      Generation{static_cast<std::uint32_t>(generation)},
                      Duration::seconds(static_cast<std::int64_t>(timeout)));
  client.look_at_job(
      call, call->value("job"), [=](const ControlView& view, const JobState& job) -> Then {
        if (generation != kNotAsked && !is_final(job.row.phase) &&
            job.row.generation.value <= generation)
          return [call] {
            Response nothing_new;
            nothing_new.status = 204;
            call->exchange->respond(std::move(nothing_new));
          };
        return [call, membership = membership_of(view, job)] {
          call->exchange->respond(json_response(membership_json(membership)));
        };
      });
}

void get_profilings(const CallPtr& call, const ControlClient& client) {
  if (!query_is_sound(call, "")) return;
  client.look_at_job(
      call, call->value("job"), [call](const ControlView& view, const JobState& job) -> Then {
        return [call, status = status_of(view.state, job), numbers = latest_profilings(job)] {
          JsonText json;
          json.begin_object().key("latest").raw(numbers_json(numbers));
          JsonFields(json, TimesAs::WithUtc).field("profilings", status.profilings);
          json.end_object();
          call->exchange->respond(json_response(json.take()));
        };
      });
}

}  // namespace

void add_members_api(Router& router,
                     const ControlClient& client,
                     const std::shared_ptr<MembershipPolls>& polls) {
  router.add_for_workers(
      "GET", "/api/v1/jobs/{job}/members", Role::Agent, [=](const CallPtr& call) {
        members(call, client, *polls);
      });
  router.add_for_workers(
      "GET", "/api/v1/jobs/{job}/profilings", Role::Agent, [=](const CallPtr& call) {
        get_profilings(call, client);
      });
  router.add_for_workers(
      "POST", "/api/v1/jobs/{job}/profilings", Role::Agent, [=](const CallPtr& call) {
        if (!query_is_sound(call, "")) return;
        post_profilings(call, client, call->value("job"), {}, [call] {
          call->exchange->respond(json_response("{}"));
        });
      });
}

}  // namespace orrery::http
