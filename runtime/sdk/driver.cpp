#include "runtime/sdk/driver.hpp"

#include "runtime/sdk/environment.hpp"
#include "runtime/sdk/peers.hpp"

namespace orrery::sdk {

std::shared_ptr<detail::CallState> RemoteWorker::begin(const std::string& method,
                                                       Value args,
                                                       Value kwargs,
                                                       bool stream) const {
  detail::CallRequest request;
  request.target = {worker_, role_, role_rank_};
  request.method = method;
  if (kwargs.is_null()) kwargs = Value::object();
  if (!args.is_array() || !kwargs.is_object())
    throw BadArguments(method +
                       ": found arguments of another kind, needed a list of positional and an "
                       "object of named ones; give them so");
  request.values = write_arguments(std::move(args), std::move(kwargs));
  request.options = options_;
  request.stream = stream;
  return detail::begin_call(peers_, std::move(request));
}

Driver::Driver(DriverOptions options)
    : peers_(
          detail::open_peers(detail::driver_access(std::move(options), detail::process_variable))) {
}

const std::string& Driver::job() const { return peers_->access().job; }

void Driver::close() { peers_->close(); }

}  // namespace orrery::sdk
