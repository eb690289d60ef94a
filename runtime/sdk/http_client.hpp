// One request to the controller, on the I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

/// Where a controller answers and who asks.
struct ControllerAccess {
  std::string url;    ///< http://host:port, https://host:port or unix:/path.
  std::string token;  ///< Empty: none.
  std::string ca;     ///< A PEM file; empty: the system's authorities.
};

/// A request with the answer's limit.
struct HttpAsk {
  std::string method = "GET";
  std::string target;
  std::string body;
  std::string content_type = "application/json";
  std::string idempotency_key;  ///< Empty: none.
  Milliseconds limit{10'000};
};

/// What was answered, or why nothing was.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::string failure;  ///< Not empty: there is no answer.
};

/// What is wrong with an address or its use, as a finding; empty where nothing is. A token travels
/// in clear on this machine only.
std::string unfit_access(const ControllerAccess& access);

/// Asks, goes where another controller leads (307), and calls `done` once, within the limit.
/// I/O thread.
void ask_controller(const ControllerAccess& access,
                    HttpAsk ask,
                    std::function<void(HttpAnswer)> done);

/// Asks and waits; not on the I/O thread.
HttpAnswer ask_controller_now(const ControllerAccess& access, HttpAsk ask);

/// A part of a path or query: all but unreserved characters as %XX.
std::string url_part(std::string_view text);

}  // namespace orrery::sdk
