#include "tools/client/socket_stream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

std::string system_words(int code) { return std::strerror(code); }

/// The socket after a connect that had to be waited for.
Status finish_connect(const Socket& socket, Deadline deadline) {
  if (const Status ready = wait_for(socket, true, deadline); !ready) return ready;
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return unavailable(system_words(code));
  return Done{};
}

Result<Socket> connect_address(const sockaddr* address, socklen_t size, Deadline deadline) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.descriptor() < 0) return unavailable(system_words(errno));
  if (address->sa_family != AF_UNIX) {
    const int yes = 1;
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  if (::connect(socket.descriptor(), address, size) != 0) {
    if (errno != EINPROGRESS) return unavailable(system_words(errno));
    if (const Status done = finish_connect(socket, deadline); !done) return done.errors();
  }
  return socket;
}

Result<Socket> connect_unix(const std::string& path, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{.subject = "server",
                 .message = path + " has " + std::to_string(path.size()) +
                            " characters, needed at most " +
                            std::to_string(sizeof address.sun_path - 1) + "; take a shorter path"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return connect_address(reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline);
}

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  Status write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (const Status ready = wait_for(socket_, true, deadline); !ready) return ready;
      } else if (errno != EINTR) {
        return unavailable(system_words(errno));
      }
    }
    return Done{};
  }

  Result<std::size_t> read(char* bytes, std::size_t size, Deadline deadline) override {
    while (true) {
      const ssize_t got = ::recv(socket_.descriptor(), bytes, size, 0);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EAGAIN) {
        if (const Status ready = wait_for(socket_, false, deadline); !ready) return ready.errors();
      } else if (errno != EINTR) {
        return unavailable(system_words(errno));
      }
    }
  }

 private:
  Socket socket_;
};

}  // namespace

Error unavailable(std::string message) {
  return Error{.code = ErrorCode::Unavailable, .message = std::move(message)};
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status wait_for(const Socket& socket, bool for_write, Deadline deadline) {
  pollfd waited{socket.descriptor(), static_cast<short>(for_write ? POLLOUT : POLLIN), 0};
  while (true) {
    if (interrupted()) return unavailable("interrupted");
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return unavailable("no answer in time");
    // A signal may come between the check above and the wait: look again soon.
    const auto step = std::min<std::chrono::milliseconds::rep>(left.count(), 500);
    const int ready = ::poll(&waited, 1, static_cast<int>(step));
    if (ready > 0) return Done{};
    if (ready < 0 && errno != EINTR) return unavailable(system_words(errno));
  }
}

Result<Socket> connect_to(const ServerAddress& server, Deadline deadline) {
  if (server.kind == ServerAddress::Kind::Unix) return connect_unix(server.path, deadline);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  // A static program resolves names only where the system's own modules fit: this one needs none.
  const std::string host = server.host == "localhost" ? "127.0.0.1" : server.host;
  const std::string port = std::to_string(server.port);
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); code != 0)
    return unavailable(std::string("the name is not known (") + gai_strerror(code) +
                       "); a numeric address always works");
  Result<Socket> last = unavailable("no address");
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    last = connect_address(each->ai_addr, each->ai_addrlen, deadline);
    if (last) break;
  }
  ::freeaddrinfo(found);
  return last;
}

std::unique_ptr<Stream> plain_stream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

Result<std::unique_ptr<Stream>> open_stream(const ServerAddress& server,
                                            const TlsIdentity& tls,
                                            Deadline deadline) {
  Result<Socket> socket = connect_to(server, deadline);
  if (!socket) return socket.errors();
  if (server.kind == ServerAddress::Kind::Https)
    return tls_stream(std::move(*socket), server, tls, deadline);
  return plain_stream(std::move(*socket));
}

}  // namespace orrery::cli
