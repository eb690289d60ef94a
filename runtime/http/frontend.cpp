#include "runtime/http/frontend.hpp"

#include <chrono>
#include <utility>

namespace orrery::http {

Frontend::Frontend(std::unique_ptr<Server> server,
                   runtime::ControlApi& control,
                   FrontendOptions options)
    : server_(std::move(server)), figures_(server_->figures()), encrypted_(options.tls.is_set()) {
  ServiceOptions service;
  service.read_jobs = std::move(options.read_jobs);
  service.tokens = options.tokens;
  service.forecasts = options.forecasts;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  service.life = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
  service_ = std::make_unique<Service>(control, server_->executor(), figures_, service);
  server_->serve([this](Request request, const std::shared_ptr<Exchange>& exchange) {
    service_->handle(std::move(request), exchange);
  });
}

Frontend::~Frontend() { stop(); }

void Frontend::stop() {
  server_->stop();
  service_.reset();
}

std::string Frontend::url() const {
  if (address().starts_with("unix:")) return address();
  return (encrypted_ ? "https://" : "http://") + address();
}

Result<std::unique_ptr<Frontend>> serve_http(runtime::ControlApi& control,
                                             FrontendOptions options) {
  Result<std::unique_ptr<Server>> server = listen(options.address, options.tls, options.limits);
  if (!server) return server.errors();
  return std::make_unique<Frontend>(std::move(*server), control, std::move(options));
}

}  // namespace orrery::http
