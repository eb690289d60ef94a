// How an operation among workers ended.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace orrery::worker {

enum class OutcomeKind : std::uint8_t {
  Done,
  PeerLost,   ///< A peer closed its connection or broke the protocol: wait for the next generation.
  TimedOut,   ///< The deadline passed first: as PeerLost.
  Cancelled,  ///< A newer generation has begun: build for it.
  Fatal,      ///< This process cannot go on, such as after a CUDA error: exit.
};

/// Ended well, or why not, in words that name the peer.
struct [[nodiscard]] Outcome {
  OutcomeKind kind = OutcomeKind::Done;
  std::string reason;

  bool ok() const { return kind == OutcomeKind::Done; }

  static Outcome done() { return {}; }

  static Outcome peer_lost(std::string reason) {
    return {OutcomeKind::PeerLost, std::move(reason)};
  }

  static Outcome timed_out(std::string reason) {
    return {OutcomeKind::TimedOut, std::move(reason)};
  }

  static Outcome cancelled() { return {OutcomeKind::Cancelled, "a newer generation has begun"}; }

  static Outcome fatal(std::string reason) { return {OutcomeKind::Fatal, std::move(reason)}; }
};

}  // namespace orrery::worker
