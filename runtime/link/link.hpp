// The transport between controllers and agents, without saying which: one stream per agent.
//
// A stream hands messages over in their order and once, or breaks. Both sides learn that it broke;
// what was under way then is lost, and the agent opens another one.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/config/config.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// One stream for as long as the server lives; never used again.
struct LinkId {
  std::uint64_t value = 0;

  friend auto operator<=>(const LinkId&, const LinkId&) = default;
};

/// The peer at the other end, as its certificate says.
struct Peer {
  std::string address;         ///< As the transport names it.
  bool authenticated = false;  ///< False: a loopback or Unix socket without TLS, trusted as it is.
  std::string role;            ///< "agent", "user", "admin"; where authenticated.
  std::string name;            ///< The certificate's name; an agent must be the node of that name.
};

/// Hears of streams. Called on the transport's threads, for one stream one call at a time: it must
/// decode nothing and block never, but push and return.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  virtual void on_open(LinkId link, const Peer& peer) = 0;

  /// Messages that have arrived, in order.
  virtual void on_messages(LinkId link, std::vector<AgentMessage> messages) = 0;

  /// The stream is over; nothing of it follows.
  virtual void on_closed(LinkId link, const std::string& why) = 0;
};

/// Bounds of a server.
struct LinkLimits {
  std::size_t streams_max = 20'000;
  std::size_t streams_per_name_max = 8;      ///< Of one certificate's name: an agent that comes
                                             ///< back before its last stream has broken.
  std::size_t message_bytes_max = 4 << 20;   ///< Larger ones break the stream.
  std::size_t outbound_bytes_max = 8 << 20;  ///< Per stream, waiting to go out; beyond: it breaks.
};

/// The controller's side. Destroying it, never from within a call of the listener, tells all
/// streams that the controller ends, and returns after `on_closed` of each.
class LinkServer {
 public:
  virtual ~LinkServer() = default;

  /// Any thread. Encodes and queues; a stream that is closed or whose queue is full drops it, and
  /// closes in the latter case.
  virtual void send(LinkId link, const ControllerMessage& message) = 0;

  /// Any thread. What was queued before still goes out; `on_closed` follows.
  virtual void close(LinkId link, const std::string& why) = 0;

  /// No stream begins any more, so that those which are closed next do not come back before the
  /// server has ended. To be followed by destroying it, soon: what is open is cut off after 2 s.
  virtual void stop_accepting() {}

  /// Where it listens: the port that was taken, where port 0 was asked for.
  virtual std::string address() const = 0;
};

/// Where there is TLS only certificates of agents get a stream.
///
/// Listens on `address` ("127.0.0.1:22101", "unix:/run/x"), at which plaintext is only taken where
/// it is loopback or a Unix socket; elsewhere `tls` must be set. `listener` outlives the server.
/// Errors: address in use or unsound, files that cannot be read, plaintext where TLS is needed.
Result<std::unique_ptr<LinkServer>> serve_links(const std::string& address,
                                                const TlsFiles& tls,
                                                const LinkLimits& limits,
                                                LinkListener& listener);

/// Hears of one stream. Called on the transport's threads, one call at a time.
class LinkClientListener {
 public:
  virtual ~LinkClientListener() = default;
  virtual void on_open() = 0;
  virtual void on_messages(std::vector<ControllerMessage> messages) = 0;
  virtual void on_closed(const std::string& why) = 0;
};

/// The agent's side: one stream. Destroying it ends the stream; no call of the listener follows. A
/// call under way on another thread is waited for; from within a call it may be destroyed as well.
class LinkClient {
 public:
  virtual ~LinkClient() = default;

  /// Any thread; as LinkServer::send.
  virtual void send(const AgentMessage& message) = 0;

  /// Any thread: what was sent and has not begun to leave. Who sends much looks at it, since a
  /// queue that is full breaks the stream.
  virtual std::size_t bytes_waiting() const { return 0; }
};

/// What several streams share: with `connections` above 1 each new stream takes the next one. It is
/// destroyed after all its clients, and never from within a call of a listener.
class LinkDialer {
 public:
  virtual ~LinkDialer() = default;

  /// Begins to open a stream to `address`; the listener, which outlives the client, hears how it
  /// went. Gives up after `timeout` and says so in `on_closed`.
  virtual std::unique_ptr<LinkClient> open(const std::string& address,
                                           Duration timeout,
                                           LinkClientListener& listener) = 0;
};

/// `connections`: TCP connections per address; at least 1. Errors as in `serve_links`.
Result<std::unique_ptr<LinkDialer>> dial_links(const TlsFiles& tls, int connections = 1);

}  // namespace orrery::runtime
