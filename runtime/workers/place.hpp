// Where a worker stands: read from its environment at the start, from its agent afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::worker {

/// A membership as one of its workers sees it.
struct Place {
  std::string job = "default.by-hand";
  std::uint64_t generation = 1;
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::string master_address = "127.0.0.1";  ///< Host or address of rank 0.
  std::uint16_t master_port = 0;             ///< Needed as soon as there are peers.
};

/// A place, and how to hear of the next one.
struct Start {
  Place place;
  std::string worker;       ///< What the agent calls this worker: `JOB-INCARNATION-RANK`.
  std::string token;        ///< By which the agent knows it (ORRERY_TOKEN); may be empty.
  std::string socket;       ///< Path of the agent's socket; empty: there is none.
  std::int32_t device = 0;  ///< In-process index of its GPU.
};

/// The value of a variable; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

/// Reads ORRERY_*, else what torchrun sets (RANK, WORLD_SIZE), and MASTER_ADDR, MASTER_PORT.
/// Without any of them the worker is alone. Errors: all values that make no place.
Result<Start> start_of(const Environment& environment);

/// The environment of this process.
std::optional<std::string> process_environment(std::string_view name);

}  // namespace orrery::worker
