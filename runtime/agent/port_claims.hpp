// The ports that a worker is to listen at: kept from other agents of this host, and free.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// The first of `count` ports from `first` on at which something listens, over IPv4 or IPv6 and at
/// whichever address; 0 where there is none, or `first` is 0. What listens a moment later is not
/// seen.
std::int32_t first_busy_port(std::int32_t first, std::int32_t count);

/// Claims on consecutive ports of this host's network namespace. Agents of other clusters, or of
/// this one, that ask while `held` is open find the ports busy, long before the worker listens:
/// an interpreter may take seconds from its start to its first socket.
struct PortClaims {
  std::vector<Descriptor> held;  ///< One for each port, in order; empty where one was busy.
  std::int32_t busy = 0;         ///< The first that another holds or listens at; 0: none.
};

/// Claims `count` ports from `first` on, all or none. A claim is a socket in the abstract
/// namespace, which the kernel gives back with its last descriptor. Without claims and without a
/// busy one where `first` is 0.
PortClaims claim_ports(std::int32_t first, std::int32_t count);

}  // namespace orrery::runtime
