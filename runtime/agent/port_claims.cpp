#include "runtime/agent/port_claims.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace orrery::runtime {
namespace {

// What waits for the end of a connection that is over (TIME_WAIT) is no listener, hence the option.
bool is_refused(int family, const sockaddr* address, socklen_t size) {
  const Descriptor probe(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return false;  // A host without IPv6.
  const int on = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  return bind(probe.get(), address, size) != 0 && errno == EADDRINUSE;
}

bool is_busy(std::int32_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = four.sin_port;
  return is_refused(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four) ||
         is_refused(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six);
}

// Names in the abstract namespace belong to the network namespace, as ports do. Closed where
// another holds the claim; a host that has no such sockets has no claims, only the probe.
Descriptor claim_of(std::int32_t port, bool& is_taken) {
  Descriptor claim(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string name = "orrery/port/" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  is_taken = claim.is_open() &&
             bind(claim.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 &&
             errno == EADDRINUSE;
  return claim;
}

}  // namespace

std::int32_t first_busy_port(std::int32_t first, std::int32_t count) {
  if (first == 0) return 0;
  for (std::int32_t port = first; port < first + count; ++port)
    if (is_busy(port)) return port;
  return 0;
}

PortClaims claim_ports(std::int32_t first, std::int32_t count) {
  PortClaims out;
  if (first == 0) return out;
  for (std::int32_t port = first; port < first + count; ++port) {
    bool is_taken = false;
    Descriptor claim = claim_of(port, is_taken);
    if (is_taken || is_busy(port)) return {{}, port};
    out.held.push_back(std::move(claim));
  }
  return out;
}

}  // namespace orrery::runtime
