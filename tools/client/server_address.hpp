// Where a controller is reached over HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::cli {

struct ServerAddress {
  enum class Kind : std::uint8_t { Http, Https, Unix };

  Kind kind = Kind::Http;
  std::string host = "127.0.0.1";  ///< Name or number, without brackets.
  std::uint16_t port = 22100;
  std::string path;  ///< Of the socket, with Unix.

  /// "http://127.0.0.1:22100", "unix:/run/orrery.sock".
  std::string text() const;

  /// The value of the Host header.
  std::string host_header() const;

  /// Whether what is sent stays on this machine.
  bool is_local() const;
};

/// "http://host[:port]", "https://host[:port]", "host:port" (http) or "unix:/path"; a slash at the
/// end is let be. Without a port it is 22100.
Result<ServerAddress> server_address(std::string_view text);

}  // namespace orrery::cli
