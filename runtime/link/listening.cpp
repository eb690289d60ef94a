#include "runtime/link/listening.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace orrery::runtime {
namespace {

/// The address as the system takes it; a name gives none.
socklen_t fill(const Address& address, sockaddr_storage& out) {
  std::memset(&out, 0, sizeof out);
  if (address.is_unix()) {
    auto& local = reinterpret_cast<sockaddr_un&>(out);
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, address.path.c_str(), address.path.size() + 1);
    return sizeof local;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(out);
  if (inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
    return sizeof four;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(out);
  if (inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    return sizeof six;
  }
  return 0;
}

std::string error_text(int error) { return std::strerror(error); }

}  // namespace

Status clear_stale_socket(const Address& address) {
  struct stat found = {};
  if (lstat(address.path.c_str(), &found) != 0) return Done{};
  const auto taken = [&](const std::string& what) {
    return Error{.code = ErrorCode::Conflict,
                 .subject = to_text(address),
                 .message = what + ", needed a free path; end the other program or name another"};
  };
  if (!S_ISSOCK(found.st_mode)) return taken("a file that is no socket lies there");
  sockaddr_storage where{};
  const socklen_t size = fill(address, where);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return taken("cannot find out whether a process listens: " + error_text(errno));
  const int refused = connect(probe, reinterpret_cast<sockaddr*>(&where), size) == 0 ? 0 : errno;
  close(probe);
  if (refused != ECONNREFUSED) return taken("another program listens there");
  if (unlink(address.path.c_str()) != 0 && errno != ENOENT)
    return taken("a stale socket cannot be removed: " + error_text(errno));
  return Done{};
}

std::string why_not_listening(const Address& address) {
  sockaddr_storage where{};
  const socklen_t size = fill(address, where);
  if (size == 0) return "a listening address is numeric, " + address.host + " is a name";
  const int probe = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return error_text(errno);
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound =
      bind(probe, reinterpret_cast<sockaddr*>(&where), size) == 0 && listen(probe, 1) == 0;
  const int error = errno;
  close(probe);
  if (bound && address.is_unix()) unlink(address.path.c_str());
  return bound ? "the transport refused it" : error_text(error);
}

}  // namespace orrery::runtime
