// What both sides of the transport set alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/record/version.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Both sides name the versions of their records and messages when a stream opens, under this key,
/// and a stream counts as open once both names have been read and are the same.
inline constexpr const char* kRecordVersionKey = "orrery-record-version";

/// "RECORDS.MESSAGES", for example "5.2".
inline std::string spoken_version() {
  return std::to_string(kRecordVersion) + "." + std::to_string(kLinkVersion);
}

/// Small messages that leave together have at most so many bytes.
constexpr std::size_t batch_bytes(std::size_t message_bytes_max) {
  return std::min<std::size_t>(message_bytes_max, 256 << 10);
}

/// What gRPC itself accepts: a little more, so that a stream with a larger message is told why.
constexpr int grpc_bytes_max(std::size_t message_bytes_max) {
  return static_cast<int>(std::min<std::size_t>(message_bytes_max + (64 << 10), 1 << 30));
}

/// A peer whose machine is gone breaks its connections after both of these; our heartbeats judge
/// nodes much sooner.
inline constexpr int kKeepAliveMs = 10'000;
inline constexpr int kKeepAliveTimeoutMs = 10'000;

/// Headers of one stream.
inline constexpr int kMetadataBytesMax = 8 << 10;

/// To be called first. gRPC writes to standard error what we report ourselves; where GRPC_VERBOSITY
/// is set it may. Checks that cost a part of each message are turned off.
void prepare_grpc();

}  // namespace orrery::runtime
