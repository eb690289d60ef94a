// A connected socket, non-blocking, with waiting under a deadline.
#pragma once

#include <string>

#include "tools/client/stream.hpp"

namespace orrery::cli {

/// Owns a descriptor.
class Socket {
 public:
  Socket() = default;

  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }

  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Waits until the socket can be read from (`for_write` false) or written to.
Status wait_for(const Socket& socket, bool for_write, Deadline deadline);

/// Connects to the first address of `server` that answers.
Result<Socket> connect_to(const ServerAddress& server, Deadline deadline);

/// The stream in clear.
std::unique_ptr<Stream> plain_stream(Socket socket);

/// The stream under TLS: the server's certificate must be good, and name the host.
Result<std::unique_ptr<Stream>> tls_stream(Socket socket,
                                           const ServerAddress& server,
                                           const TlsIdentity& tls,
                                           Deadline deadline);

/// An Unavailable error.
Error unavailable(std::string message);

}  // namespace orrery::cli
