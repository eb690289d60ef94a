// What the server has counted, for /metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace orrery::http {

/// Written on the I/O thread, read by anyone.
struct Figures {
  static constexpr int kStatusMax = 600;

  std::array<std::atomic<std::uint64_t>, kStatusMax> answers{};  ///< By status.
  std::atomic<std::uint64_t> connections{0};                     ///< Accepted so far.
  std::atomic<std::uint64_t> connections_open{0};
  std::atomic<std::uint64_t> connections_refused{0};  ///< Too many at once, or TLS failed.
  std::atomic<std::uint64_t> cut_off{0};              ///< Too slow to send or to read.
  std::atomic<std::uint64_t> streams_open{0};         ///< Answers that come in pieces.

  void count_answer(int status) {
    if (status >= 0 && status < kStatusMax) ++answers[static_cast<std::size_t>(status)];
  }
};

}  // namespace orrery::http
