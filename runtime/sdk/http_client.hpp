// One request to the controller, on the I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

/// Where a controller answers and who asks.
struct ControllerAccess {
  /// http://host:port, https://host:port or unix:/path; of several controllers joined by commas,
  /// the one to ask first.
  std::string url;
  std::string token;  ///< Empty: none.
  std::string ca;     ///< A PEM file; empty: the system's authorities.
  /// Holds the address of the controller that leads now, which stands in place of `url`; empty, or
  /// no file there yet: `url` holds.
  std::string url_file;
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
  std::string failure;   ///< Not empty: there is no answer.
  std::string for_good;  ///< No other try at this address can help: the error that callers get.
};

/// What is wrong with the addresses or their use, as a finding; empty where nothing is. A token
/// travels in clear on this machine only.
std::string unfit_access(const ControllerAccess& access);

/// The addresses of `url`, at least one.
std::vector<std::string> addresses_of(const ControllerAccess& access);

/// The address that was asked first becomes the last one.
void turn_to_next(ControllerAccess& access);

/// Asks the first address, goes where another controller leads (307), and calls `done` once, within
/// the limit. I/O thread.
void ask_controller(const ControllerAccess& access,
                    HttpAsk ask,
                    std::function<void(HttpAnswer)> done);

/// Asks and waits; not on the I/O thread.
HttpAnswer ask_controller_now(const ControllerAccess& access, HttpAsk ask);

/// A part of a path or query: all but unreserved characters as %XX.
std::string url_part(std::string_view text);

}  // namespace orrery::sdk
