// A controller's HTTP side as one thing: server, routes, and the thread they run on.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/http/server.hpp"
#include "runtime/http/service.hpp"

namespace orrery::http {

struct FrontendOptions {
  std::string address = "127.0.0.1:22100";  ///< As `listen` takes it.
  runtime::TlsFiles tls;
  ServerLimits limits;
  ReadJobText read_jobs;
  Authenticator* tokens = nullptr;          ///< Outlives the front end.
  runtime::Forecasts* forecasts = nullptr;  ///< Likewise; null: none are made.
};

/// Answers from its construction on until it is destroyed or stopped.
class Frontend {
 public:
  Frontend(std::unique_ptr<Server> server, runtime::ControlApi& control, FrontendOptions options);
  ~Frontend();
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  /// Ends all connections and lets go of the controller. While the controller still runs.
  void stop();

  /// "127.0.0.1:22100", with the port that was taken.
  const std::string& address() const { return server_->address(); }

  /// "http://127.0.0.1:22100", "https://...", or "unix:/path".
  std::string url() const;

  /// All paths there are.
  const Router& router() const { return service_->router(); }

  /// What was counted so far.
  const Figures& figures() const { return *figures_; }

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<Figures> figures_;
  std::unique_ptr<Service> service_;
  bool encrypted_;
};

/// Listens and answers. `control` outlives the front end. Errors: as of `listen`.
Result<std::unique_ptr<Frontend>> serve_http(runtime::ControlApi& control, FrontendOptions options);

}  // namespace orrery::http
