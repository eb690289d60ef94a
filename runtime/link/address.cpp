#include "runtime/link/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace orrery::runtime {
namespace {

constexpr std::string_view kUnix = "unix:";

Error unsound(std::string_view text, const std::string& found) {
  return {.subject = "address " + std::string(text),
          .message = found +
                     ", needed HOST:PORT, [IPV6]:PORT or unix:/absolute/path; write for example "
                     "127.0.0.1:22101"};
}

Result<LinkAddress> parse_unix(std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') return unsound(text, "the socket's path is relative");
  if (path.size() >= sizeof(sockaddr_un{}.sun_path))
    return unsound(text,
                   "the socket's path has " + std::to_string(path.size()) +
                       " bytes, more than a socket's may (107)");
  if (path.find('\0') != std::string_view::npos) return unsound(text, "the path has a zero byte");
  return LinkAddress{.path = std::string(path)};
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint32_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  if (text.empty() || error != std::errc() || at != end || port > 65535) return {};
  return static_cast<std::uint16_t>(port);
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 &&
         host.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
             std::string_view::npos;
}

/// The address as the system takes it; a name gives none.
socklen_t fill(const LinkAddress& address, sockaddr_storage& out) {
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

bool LinkAddress::is_local() const {
  if (is_unix()) return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string LinkAddress::text() const {
  if (is_unix()) return std::string(kUnix) + path;
  const bool bracketed = host.find(':') != std::string::npos;
  return (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<LinkAddress> parse_link_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text, text.substr(kUnix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return unsound(text, "there is no port");
  const std::optional<std::uint16_t> port = port_of(text.substr(colon + 1));
  if (!port) return unsound(text, "the port is no number from 0 to 65535");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    in6_addr six{};
    if (inet_pton(AF_INET6, std::string(host).c_str(), &six) != 1)
      return unsound(text, "what stands in brackets is no IPv6 address");
  } else if (!is_host_name(host)) {
    return unsound(text, "the host is neither a name nor an address");
  }
  if (host == "localhost") host = "127.0.0.1";
  return LinkAddress{.host = std::string(host), .port = *port};
}

Status clear_stale_socket(const LinkAddress& address) {
  struct stat found {};

  if (lstat(address.path.c_str(), &found) != 0) return Done{};
  const auto taken = [&](const std::string& what) {
    return Error{.code = ErrorCode::Conflict,
                 .subject = address.text(),
                 .message = what + ", needed a free path; end the other program or name another"};
  };
  if (!S_ISSOCK(found.st_mode)) return taken("a file that is no socket lies there");
  sockaddr_storage where{};
  const socklen_t size = fill(address, where);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return taken("cannot ask who listens: " + error_text(errno));
  const int refused = connect(probe, reinterpret_cast<sockaddr*>(&where), size) == 0 ? 0 : errno;
  close(probe);
  if (refused != ECONNREFUSED) return taken("another program listens there");
  if (unlink(address.path.c_str()) != 0 && errno != ENOENT)
    return taken("a stale socket cannot be removed: " + error_text(errno));
  return Done{};
}

std::string why_not_listening(const LinkAddress& address) {
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
