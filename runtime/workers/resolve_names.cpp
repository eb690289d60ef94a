#include "runtime/workers/resolve_names.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

namespace orrery::worker {

Result<std::string> resolve_names(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0)
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "MASTER_ADDR",
                 "\"" + host.substr(0, 100) + "\": " + ::gai_strerror(error) +
                     "; give the name or address of rank 0's host"};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  char text[NI_MAXHOST] = {};
  ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return std::string(text);
}

}  // namespace orrery::worker
