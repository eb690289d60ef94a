// All that a controller answers over HTTP, without saying how requests come in.
#pragma once

#include <memory>

#include "runtime/controller/control_api.hpp"
#include "runtime/forecast/forecasts.hpp"
#include "runtime/http/access.hpp"
#include "runtime/http/event_feed.hpp"
#include "runtime/http/exchange.hpp"
#include "runtime/http/figures.hpp"
#include "runtime/http/job_text.hpp"
#include "runtime/http/membership_polls.hpp"
#include "runtime/http/router.hpp"
#include "runtime/http/text_reader.hpp"

namespace orrery::http {

struct ServiceOptions {
  ReadJobText read_jobs;            ///< Empty: jobs cannot be submitted here.
  Authenticator* tokens = nullptr;  ///< Outlives the service; null: no bearer token is known.
  runtime::Forecasts* forecasts = nullptr;  ///< Outlives the service; null: none are made.
  std::uint64_t life = 0;                   ///< Differs from one life of the process to the next.
};

/// The routes and what they share.
class Service {
 public:
  /// `control` outlives the service and all calls that it has under way.
  Service(runtime::ControlApi& control,
          std::shared_ptr<Executor> executor,
          const std::shared_ptr<const Figures>& figures,
          const ServiceOptions& options);

  /// Lets go of the controller's subscriptions; before the controller ends.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Judges, routes and handles one request. On the I/O thread.
  void handle(Request request, const std::shared_ptr<Exchange>& exchange) const;

  const Router& router() const { return router_; }

 private:
  void handle_worker(const CallPtr& call, const Route& route) const;

  ControlClient client_;
  Router router_;
  std::shared_ptr<EventFeed> feed_;
  std::shared_ptr<MembershipPolls> polls_;
  std::shared_ptr<TextReader> texts_;
  Authenticator* tokens_;
};

}  // namespace orrery::http
