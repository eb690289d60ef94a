// Ports for the workers of a test that no other process of this host gives to its own: what
// tests/system/up/own_ports.py is to the tests of whole clusters, with the same claims.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "runtime/agent/port_claims.hpp"

namespace orrery::runtime {

/// A slice of ports, the process's own until it ends. One thread at a time.
class OwnPorts {
 public:
  static OwnPorts& of_process() {
    static OwnPorts own;
    return own;
  }

  /// The first of `count` consecutive ports that nothing listens at and no worker holds, not even
  /// one that the test before has left. They come in turn.
  std::int32_t next(std::int32_t count) {
    for (std::int32_t tries = 0; tries < kLength; ++tries) {
      if (at_ + count > first_ + kLength) at_ = first_;
      const std::int32_t busy = claim_ports(at_, count).busy;
      const std::int32_t found = at_;
      at_ = busy != 0 ? busy + 1 : at_ + count;
      if (busy == 0) return found;
    }
    throw std::runtime_error("all ports of this test are held; does a worker of it live on?");
  }

 private:
  // Below those of own_ports.py.
  static constexpr std::int32_t kFirst = 5000, kEnd = 7000, kLength = 200;

  OwnPorts() {
    const std::int32_t slices = (kEnd - kFirst) / kLength;
    for (std::int32_t i = 0; i < slices; ++i) {
      first_ = at_ = kFirst + (::getpid() + i) % slices * kLength;
      claim_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const std::string name = "orrery/test/ports/" + std::to_string(first_);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path + 1, name.data(), name.size());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      if (::bind(claim_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return;
    }
    throw std::runtime_error("all ports for tests are claimed; are earlier tests still running?");
  }

  std::int32_t first_ = 0;
  std::int32_t at_ = 0;
  Descriptor claim_;
};

}  // namespace orrery::runtime
