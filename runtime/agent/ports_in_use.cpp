#include "runtime/agent/ports_in_use.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "runtime/shim/durable_file.hpp"

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

}  // namespace

std::int32_t first_busy_port(std::int32_t first, std::int32_t count) {
  if (first == 0) return 0;
  for (std::int32_t port = first; port < first + count; ++port)
    if (is_busy(port)) return port;
  return 0;
}

}  // namespace orrery::runtime
