#include "runtime/workers/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/base/number_text.hpp"

namespace orrery::worker {
namespace {

// Between two tries to connect to a peer that does not listen yet.
constexpr Milliseconds kRetry{10};
constexpr int kBacklog = 1024;

struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

std::optional<SystemAddress> system_address(const Endpoint& endpoint) {
  SystemAddress out;
  auto* four = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (::inet_pton(AF_INET, endpoint.address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(endpoint.port);
    out.size = sizeof *four;
    return out;
  }
  auto* six = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET6, endpoint.address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(endpoint.port);
    out.size = sizeof *six;
    return out;
  }
  return std::nullopt;
}

Endpoint endpoint_from(const SystemAddress& from) {
  char text[INET6_ADDRSTRLEN] = {};
  if (from.storage.ss_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&from.storage);
    ::inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
    return {text, ntohs(six->sin6_port)};
  }
  const auto* four = reinterpret_cast<const sockaddr_in*>(&from.storage);
  ::inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
  return {text, ntohs(four->sin_port)};
}

std::string system_reason(int number) { return std::strerror(number); }

Error socket_error(const Endpoint& at, std::string_view what, int number) {
  return {ErrorCode::Unavailable,
          {},
          0,
          at.text(),
          std::string(what) + ": " + system_reason(number) +
              "; free the port, or choose an address of this machine"};
}

Descriptor new_socket(int family) {
  Descriptor out(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (out.is_open()) ::setsockopt(out.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return out;
}

/// What is left of a transfer in one direction.
Outcome lost(std::string_view peer, std::string_view what) {
  return Outcome::peer_lost(std::string(peer) + ": " + std::string(what));
}

/// Sends what the system takes now.
Outcome send_some(const PeerSocket& to, std::span<const std::byte>& out) {
  const ssize_t sent = ::send(to.socket.number(), out.data(), out.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    out = out.subspan(static_cast<std::size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    return lost(to.peer, system_reason(errno));
  }
  return Outcome::done();
}

/// Takes what has arrived.
Outcome receive_some(const PeerSocket& from, std::span<std::byte>& in) {
  const ssize_t got = ::recv(from.socket.number(), in.data(), in.size(), 0);
  if (got > 0) {
    in = in.subspan(static_cast<std::size_t>(got));
  } else if (got == 0) {
    return lost(from.peer, "closed the connection");
  } else if (errno != EAGAIN && errno != EINTR) {
    return lost(from.peer, system_reason(errno));
  }
  return Outcome::done();
}

/// Polls the descriptors beside what the limits want watched; Done where any is ready. The last two
/// of the set are for the limits.
Outcome poll_all(std::span<pollfd> set, const Limits& limits, std::string_view what) {
  pollfd& lifeline = set[set.size() - 2];
  lifeline = {limits.lifeline, POLLRDHUP, 0};
  set.back() = {limits.cancel.descriptor(), POLLIN, 0};
  for (;;) {
    if (limits.cancel.is_set()) return Outcome::cancelled();
    const Milliseconds left = limits.deadline.left();
    const auto wait = static_cast<int>(std::min<std::int64_t>(left.count(), 1 << 30));
    const int ready = ::poll(set.data(), set.size(), wait);
    if (limits.cancel.is_set()) return Outcome::cancelled();
    // What has arrived counts before the news that a peer left.
    if (ready == 1 && lifeline.revents != 0)
      return Outcome::peer_lost(std::string(what) + ": a rank has left the group");
    if (ready > 0) return Outcome::done();
    if (ready < 0 && errno != EINTR) return Outcome::fatal("poll: " + system_reason(errno));
    if (ready == 0 && limits.deadline.passed())
      return Outcome::timed_out(std::string(what) + ": the time limit is over");
  }
}

}  // namespace

std::string Endpoint::text() const {
  const bool six = address.find(':') != std::string::npos;
  return (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

Result<Endpoint> endpoint_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  Endpoint out;
  bool good = colon != std::string_view::npos;
  if (good) {
    std::string_view address = text.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']'))
      address = address.substr(1, address.size() - 2);
    out.address = address;
    const std::optional<std::uint16_t> port = parsed_number<std::uint16_t>(text.substr(colon + 1));
    out.port = port.value_or(0);
    good = port && system_address(out).has_value();
  }
  if (good) return out;
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               std::string(text.substr(0, 100)),
               "is no numeric address with a port, such as 127.0.0.1:22270 or [::1]:22270"};
}

bool is_cut(int lifeline) {
  pollfd set{lifeline, POLLRDHUP, 0};
  return ::poll(&set, 1, 0) > 0;
}

Outcome wait_ready(int descriptor, short events, const Limits& limits, std::string_view what) {
  pollfd set[] = {{descriptor, events, 0}, {}, {}};
  return poll_all(set, limits, what);
}

Outcome wait_time(Milliseconds time, const Limits& limits, std::string_view what) {
  const Limits shorter{
      Deadline::in(std::min(time, limits.deadline.left())), limits.cancel, limits.lifeline};
  pollfd set[2] = {};
  const Outcome waited = poll_all(set, shorter, what);
  if (waited.kind == OutcomeKind::TimedOut && !limits.deadline.passed()) return Outcome::done();
  return waited;
}

Result<Descriptor> bind_at(const Endpoint& at) {
  std::optional<SystemAddress> address = system_address(at);
  if (!address) return socket_error(at, "listen", EAFNOSUPPORT);
  Descriptor out = new_socket(address->storage.ss_family);
  if (!out.is_open()) return socket_error(at, "socket", errno);
  const int on = 1;
  ::setsockopt(out.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(out.number(), address->get(), address->size) != 0)
    return socket_error(at, "bind", errno);
  return out;
}

Result<Descriptor> listen_at(const Endpoint& at) {
  Result<Descriptor> out = bind_at(at);
  if (out && ::listen(out->number(), kBacklog) != 0) return socket_error(at, "listen", errno);
  return out;
}

Result<Endpoint> local_end(const Descriptor& socket) {
  SystemAddress address;
  address.size = sizeof address.storage;
  if (::getsockname(socket.number(), address.get(), &address.size) != 0)
    return Error{ErrorCode::Unavailable, {}, 0, "socket", system_reason(errno)};
  return endpoint_from(address);
}

Outcome connect_to(const Endpoint& to, const Limits& limits, Descriptor& out) {
  std::optional<SystemAddress> address = system_address(to);
  if (!address) return Outcome::fatal(to.text() + ": is no numeric address");
  const std::string what = "connecting to " + to.text();
  for (;;) {
    Descriptor socket = new_socket(address->storage.ss_family);
    if (!socket.is_open()) return Outcome::fatal(what + ": " + system_reason(errno));
    int error = 0;
    if (::connect(socket.number(), address->get(), address->size) != 0) error = errno;
    if (error == EINPROGRESS) {
      Outcome ready = wait_ready(socket.number(), POLLOUT, limits, what);
      if (!ready.ok()) return ready;
      socklen_t size = sizeof error;
      ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      out = std::move(socket);
      return Outcome::done();
    }
    Outcome waited = wait_time(kRetry, limits, what + ": " + system_reason(error));
    if (!waited.ok()) return waited;
  }
}

Outcome accept_from(const Descriptor& listener,
                    const Limits& limits,
                    std::string_view what,
                    Descriptor& out) {
  for (;;) {
    Outcome ready = wait_ready(listener.number(), POLLIN, limits, what);
    if (!ready.ok()) return ready;
    Descriptor socket(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      const int on = 1;
      ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      out = std::move(socket);
      return Outcome::done();
    }
    if (errno == EMFILE || errno == ENFILE)
      return Outcome::fatal(std::string(what) + ": " + system_reason(errno));
  }
}

Outcome send_all(const Descriptor& socket,
                 std::span<const std::byte> bytes,
                 const Limits& limits,
                 std::string_view peer) {
  return exchange({socket, peer}, bytes, {socket, peer}, {}, limits);
}

Outcome receive_all(const Descriptor& socket,
                    std::span<std::byte> bytes,
                    const Limits& limits,
                    std::string_view peer) {
  return exchange({socket, peer}, {}, {socket, peer}, bytes, limits);
}

Outcome exchange(const PeerSocket& to,
                 std::span<const std::byte> out,
                 const PeerSocket& from,
                 std::span<std::byte> in,
                 const Limits& limits) {
  while (!out.empty() || !in.empty()) {
    // A negative descriptor is left out by poll.
    pollfd set[] = {{out.empty() ? -1 : to.socket.number(), POLLOUT, 0},
                    {in.empty() ? -1 : from.socket.number(), POLLIN, 0},
                    {},
                    {}};
    Outcome step = poll_all(set, limits, in.empty() ? to.peer : from.peer);
    if (step.ok() && set[0].revents != 0) step = send_some(to, out);
    if (step.ok() && set[1].revents != 0) step = receive_some(from, in);
    if (!step.ok()) return step;
  }
  return Outcome::done();
}

}  // namespace orrery::worker
