// Where a daemon listens or is reached: "127.0.0.1:22101", "[::1]:22101", "unix:/run/orrery.sock".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// A parsed address. "localhost" is taken as 127.0.0.1.
struct LinkAddress {
  std::string host;  ///< Numeric, without brackets, or a name; empty: a Unix socket.
  std::uint16_t port = 0;
  std::string path;  ///< Of the Unix socket, absolute.

  bool is_unix() const { return host.empty(); }

  /// Whether only this machine can reach it: plaintext is fit for these alone.
  bool is_local() const;

  /// As it was written: "host:port", "[host]:port" or "unix:/path".
  std::string text() const;
};

/// Errors: neither form, a port beyond 65535, a path that is relative or too long for a socket.
Result<LinkAddress> parse_link_address(std::string_view text);

/// A Unix socket that nobody listens at any more is removed. Errors: somebody does, or there is
/// something else at its path.
Status clear_stale_socket(const LinkAddress& address);

/// Why this machine cannot listen there, in words; asked after it failed.
std::string why_not_listening(const LinkAddress& address);

}  // namespace orrery::runtime
