#include "runtime/http/health_api.hpp"

#include "core/base/json_text.hpp"

namespace orrery::http {
namespace {

using runtime::Admission;
using runtime::ControllerFacts;

void answer_ready(const CallPtr& call, const ControllerFacts& facts) {
  JsonText json;
  json.begin_object().field("admission", to_string(facts.admission)).field("why", facts.why);
  json.field("leader", facts.leader_url).end_object();
  call->exchange->respond(
      json_response(json.take(), facts.admission == Admission::Open ? 200 : 503));
}

}  // namespace

void add_health_api(Router& router, const ControlClient& client) {
  router.add("GET", "/healthz", Role::None, [](const CallPtr& call) {
    if (!query_is_sound(call, "")) return;
    Response out;
    out.body = "ok\n";
    out.content_type = "text/plain";
    call->exchange->respond(std::move(out));
  });
  // Not through ControlClient: this is about a controller that may not be ready.
  router.add("GET", "/readyz", Role::None, [client](const CallPtr& call) {
    if (!query_is_sound(call, "")) return;
    client.control().read(
        [call](const runtime::ControlView& view) { answer_ready(call, view.facts); });
  });
}

}  // namespace orrery::http
