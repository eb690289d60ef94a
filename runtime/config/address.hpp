// Where a daemon listens or is reached, and what may be reached there without encryption.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"

namespace orrery::runtime {

/// "127.0.0.1:22101", "[::1]:22101", "controller.example:22101" or "unix:/run/orrery.sock".
struct Address {
  std::string host;        ///< Without brackets; empty for a Unix socket.
  std::uint16_t port = 0;  ///< 0: any free port, to listen on.
  std::string path;        ///< Of a Unix socket, absolute; else empty.

  bool is_unix() const { return !path.empty(); }

  friend bool operator==(const Address&, const Address&) = default;
};

/// Nothing where `text` is none of the forms above.
std::optional<Address> parse_address(std::string_view text);

/// The form that parse_address reads.
std::string to_text(const Address& address);

/// Whether only this machine reaches it: a Unix socket, 127.0.0.0/8, ::1, or the name localhost.
bool is_local(const Address& address);

/// The rule of the whole program: plaintext only where is_local, mutual TLS elsewhere. Errors: no
/// address; an address that is not local while `tls` is not set; files of `tls` of which some are
/// missing. `subject` begins each message, for example "http_address".
Errors check_exposure(std::string_view address, const TlsFiles& tls, const std::string& subject);

}  // namespace orrery::runtime
