// TCP between workers: every wait has a deadline and ends at once when it is cancelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "runtime/workers/cancel.hpp"
#include "runtime/workers/deadline.hpp"
#include "runtime/workers/descriptor.hpp"
#include "runtime/workers/outcome.hpp"

namespace orrery::worker {

/// A numeric IPv4 or IPv6 address and a port.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;

  /// `127.0.0.1:22270`, `[::1]:22270`.
  std::string text() const;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Inverse of Endpoint::text. Error: it is no numeric address with a port.
Result<Endpoint> endpoint_of(std::string_view text);

/// What an operation on sockets may take.
struct Limits {
  Deadline deadline;
  const Cancel& cancel;
  int lifeline = -1;  ///< A connection whose end ends the operation too, as PeerLost; -1: none.
};

/// Whether the other end of a connection is gone. Data that waits to be read does not count.
bool is_cut(int lifeline);

/// Waits until `descriptor` is ready for `events` (POLLIN, POLLOUT), has an error, or the limits
/// are met. `what` begins the reason of a time-out.
Outcome wait_ready(int descriptor, short events, const Limits& limits, std::string_view what);

/// Sleeps for `time`, at most until the limits are met.
Outcome wait_time(Milliseconds time, const Limits& limits, std::string_view what);

/// Holds `at` for one who listens there: nobody else is given its port by the system. Port 0 lets
/// the system choose. Error: the system's reason.
Result<Descriptor> bind_at(const Endpoint& at);

/// Listens at `at`; port 0 lets the system choose. Error: the system's reason.
Result<Descriptor> listen_at(const Endpoint& at);

/// The end of `socket` on this machine, or that of its peer.
Result<Endpoint> local_end(const Descriptor& socket);

/// Connects, again and again until a process listens there.
Outcome connect_to(const Endpoint& to, const Limits& limits, Descriptor& out);

/// The next connection of a listener.
Outcome accept_from(const Descriptor& listener,
                    const Limits& limits,
                    std::string_view what,
                    Descriptor& out);

/// Sends or receives all of the bytes. `peer` names the other end in reasons.
Outcome send_all(const Descriptor& socket,
                 std::span<const std::byte> bytes,
                 const Limits& limits,
                 std::string_view peer);
Outcome receive_all(const Descriptor& socket,
                    std::span<std::byte> bytes,
                    const Limits& limits,
                    std::string_view peer);

/// One direction of an exchange: the socket, the peer's name for reasons.
struct PeerSocket {
  const Descriptor& socket;
  std::string_view peer;
};

/// Sends all of `out` to one peer while it receives all of `in` from another, so that a ring in
/// which everybody sends cannot lock up.
Outcome exchange(const PeerSocket& to,
                 std::span<const std::byte> out,
                 const PeerSocket& from,
                 std::span<std::byte> in,
                 const Limits& limits);

}  // namespace orrery::worker
