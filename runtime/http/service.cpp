#include "runtime/http/service.hpp"

#include <utility>

#include "runtime/http/api.hpp"
#include "runtime/http/di_api.hpp"
#include "runtime/http/events_api.hpp"
#include "runtime/http/forecast_api.hpp"
#include "runtime/http/health_api.hpp"
#include "runtime/http/jobs_api.hpp"
#include "runtime/http/logs_api.hpp"
#include "runtime/http/members_api.hpp"
#include "runtime/http/metrics.hpp"
#include "runtime/http/nodes_api.hpp"
#include "runtime/http/openapi.hpp"
#include "runtime/http/peers_api.hpp"
#include "runtime/http/profilings.hpp"

namespace orrery::http {
namespace {

void refuse_method(const CallPtr& call, const Router::Match& match) {
  std::string allowed;
  for (const std::string& method : match.allowed) {
    allowed += (allowed.empty() ? "" : ", ") + method;
    if (method == "GET") allowed += ", HEAD";
  }
  fail(call,
       405,
       "method " + call->request.method + " is not for this path, it takes " + allowed,
       {},
       {{"Allow", allowed}});
}

// Whatever it says of itself: its token identifies it.
void speak_as(const WorkerName& worker, Request& request) {
  std::erase_if(request.headers,
                [](const Header& header) { return same_name(header.name, kWorkerHeader); });
  request.headers.push_back({std::string(kWorkerHeader), worker_text(worker)});
}

// "default.a" of path values "a", "default.a" and "default.a.3", the last with a generation.
std::string job_in_path(const Call& call) {
  for (const auto& [key, value] : call.values) {
    if (key == "job") return full_job_name(value);
    if (key != "id") continue;
    const std::size_t first = value.find('.');
    const std::size_t second =
        first == std::string::npos ? std::string::npos : value.find('.', first + 1);
    return value.substr(0, second);
  }
  return {};
}

}  // namespace

Service::Service(runtime::ControlApi& control,
                 std::shared_ptr<Executor> executor,
                 const std::shared_ptr<const Figures>& figures,
                 const ServiceOptions& options)
    : client_(control, executor),
      feed_(std::make_shared<EventFeed>(executor, options.life)),
      texts_(std::make_shared<TextReader>(options.read_jobs, executor)),
      tokens_(options.tokens) {
  const ControlClient& client = client_;
  add_health_api(router_, client);
  add_jobs_api(router_, client, feed_, texts_, options.forecasts);
  add_forecast_api(router_, client, options.forecasts, texts_);
  polls_ = std::make_shared<MembershipPolls>(client);
  add_members_api(router_, client, polls_);
  add_peers_api(router_, client);
  add_events_api(router_, client, feed_);
  add_logs_api(router_, client);
  add_nodes_api(router_, client);
  add_di_api(router_, client);
  add_metrics(router_, client, figures, options.forecasts);
  add_openapi(router_);
  feed_->start(control);
  polls_->start();
}

Service::~Service() {
  feed_->stop();
  polls_->stop();
  texts_->stop();
}

void Service::handle(Request request, const std::shared_ptr<Exchange>& exchange) const {
  const auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->exchange = exchange;
  call->envelope = call->request.target.starts_with("/v2alpha1");
  if (const Denial denial = check_origin(call->request); denial.status != 0)
    return fail(call, denial.status, denial.message);
  Result<Target> target = read_target(call->request.target);
  if (!target) return fail(call, 400, target.errors());
  Router::Match match = router_.find(call->request.method, target->parts);
  if (match.allowed.empty())
    return fail(
        call, 404, "there is nothing at this path; /api/v1/openapi.yaml names all there is");
  if (match.route == nullptr) return refuse_method(call, match);
  Denial denial;
  if (match.route->role != Role::None) {
    denial = identify(call->request, tokens_, call->identity);
    if (denial.status == 0)
      denial = check_role(call->identity, match.route->role, match.route->for_workers);
  }
  if (denial.status != 0) return fail(call, denial.status, denial.message);
  call->query = std::move(target->query);
  call->values = std::move(match.values);
  if (call->identity.role == Role::Worker) return handle_worker(call, *match.route);
  match.route->handle(call);
}

// Whose token it is, and whether that one lives, is in the state.
void Service::handle_worker(const CallPtr& call, const Route& route) const {
  const std::string name = job_in_path(*call);
  client_.look(call, [call, name, &route](const runtime::ControlView& view) -> ControlClient::Then {
    std::optional<WorkerName> owner;
    if (view.tokens != nullptr) owner = view.tokens->owner(call->identity.token, view.state);
    const bool own = owner && owner->job == view.state.named(name);
    return [call, name, &route, owner, own] {
      if (!owner)
        return fail(call,
                    401,
                    "the token is of no worker that runs; it ends with its worker, and after a "
                    "change of controllers it is good once the worker's node has registered");
      if (!own) return fail(call, 403, "the token is of a worker of another job than " + name);
      speak_as(*owner, call->request);
      route.handle(call);
    };
  });
}

}  // namespace orrery::http
