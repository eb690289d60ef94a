#include "runtime/http/service.hpp"

#include <utility>

#include "runtime/http/api.hpp"
#include "runtime/http/di_api.hpp"
#include "runtime/http/events_api.hpp"
#include "runtime/http/health_api.hpp"
#include "runtime/http/jobs_api.hpp"
#include "runtime/http/logs_api.hpp"
#include "runtime/http/members_api.hpp"
#include "runtime/http/metrics.hpp"
#include "runtime/http/nodes_api.hpp"
#include "runtime/http/openapi.hpp"

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

}  // namespace

Service::Service(runtime::ControlApi& control,
                 std::shared_ptr<Executor> executor,
                 const std::shared_ptr<const Figures>& figures,
                 const ServiceOptions& options)
    : feed_(std::make_shared<EventFeed>(executor, options.life)), tokens_(options.tokens) {
  const ControlDoor door(control, executor);
  add_health_api(router_, door);
  add_jobs_api(router_, door, feed_, options.read_jobs);
  polls_ = std::make_shared<MembershipPolls>(door);
  add_members_api(router_, door, polls_);
  add_events_api(router_, feed_);
  add_logs_api(router_, door);
  add_nodes_api(router_, door);
  add_di_api(router_, door);
  add_metrics(router_, door, figures);
  add_openapi(router_);
  feed_->start(control);
  polls_->start();
}

Service::~Service() {
  feed_->stop();
  polls_->stop();
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
  if (match.route->role != Role::Nobody) {
    denial = identify(call->request, tokens_, call->who);
    if (denial.status == 0) denial = check_role(call->who, match.route->role);
  }
  if (denial.status != 0) return fail(call, denial.status, denial.message);
  call->query = std::move(target->query);
  call->values = std::move(match.values);
  match.route->handle(call);
}

}  // namespace orrery::http
