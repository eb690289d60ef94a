// What the processes of hollow agents count, in memory that they share with the process that
// measures.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace orrery::bench {

/// Durations in buckets of a power of two of microseconds.
struct DurationBuckets {
  static constexpr std::size_t kCount = 40;
  std::array<std::atomic<std::uint64_t>, kCount> counts{};

  void add(std::int64_t ns) {
    const auto us = static_cast<std::uint64_t>(ns < 0 ? 0 : ns / 1000);
    counts[static_cast<std::size_t>(std::bit_width(us))].fetch_add(1, std::memory_order_relaxed);
  }
};

/// Of one process. All counts only rise, but `connected` and `leased`.
struct FleetCounters {
  std::atomic<std::int64_t> connected{0};    ///< Streams that are open.
  std::atomic<std::int64_t> leased{0};       ///< Agents that hold a lease.
  std::atomic<std::uint64_t> registered{0};  ///< Streams whose first beat was answered.
  std::atomic<std::uint64_t> beats{0};
  std::atomic<std::uint64_t> renewals{0};
  std::atomic<std::uint64_t> leases_lost{0};  ///< Held ones that ran out: a fence.
  std::atomic<std::uint64_t> closed{0};       ///< Streams that broke or never opened.
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> spawned{0};
  std::atomic<std::uint64_t> signalled{0};
  std::atomic<std::uint64_t> orders{0};
  DurationBuckets renewal_after;  ///< From sending a heartbeat to its renewal.
};

}  // namespace orrery::bench
