// The HTTP server: one I/O thread, bounds on everything, plaintext only where no other host can
// listen.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/config/config.hpp"
#include "runtime/http/exchange.hpp"
#include "runtime/http/figures.hpp"

namespace orrery::http {

struct ServerLimits {
  RequestLimits request;
  std::size_t connections_max = 4096;
  Duration handshake = Duration::seconds(10);  ///< TLS.
  Duration idle = Duration::seconds(75);       ///< Between requests of one connection.
  Duration header = Duration::seconds(10);     ///< From its first byte to its last.
  Duration body = Duration::seconds(60);
  Duration write = Duration::seconds(30);       ///< Without the client having read anything.
  std::size_t stream_bytes_max = 40 << 20;      ///< Of one answer, queued for a slow client.
  std::size_t queued_bytes_max = 256 << 20;     ///< Of all together.
  Duration stop = Duration::milliseconds(500);  ///< What requests under way get to end.
};

/// Listens, reads requests, hands them to a handler, sends answers.
class Server {
 public:
  /// Stops, without waiting for requests under way any longer than `ServerLimits::stop`.
  virtual ~Server() = default;

  /// Begins to answer. Once.
  virtual void serve(Handler handler) = 0;

  /// Ends all: streams are finished, requests under way get a moment. Blocks; no handler runs
  /// afterwards.
  virtual void stop() = 0;

  /// Outlives the server where it is shared.
  virtual std::shared_ptr<Executor> executor() = 0;

  /// "127.0.0.1:22100" with the port that was taken, or "unix:/path".
  virtual const std::string& address() const = 0;

  virtual std::shared_ptr<Figures> figures() = 0;
};

/// Listens on `address`: "127.0.0.1:22100", "[::1]:0" (port 0: any that is free), "localhost:80" or
/// "unix:/path". Host names are not looked up. With `tls` all is encrypted, and a client may show a
/// certificate of our authority. Errors: an address that is unsound or in use, files that cannot be
/// read, and plaintext on what is neither loopback nor a Unix socket.
Result<std::unique_ptr<Server>> listen(const std::string& address,
                                       const runtime::TlsFiles& tls,
                                       const ServerLimits& limits = {});

}  // namespace orrery::http
