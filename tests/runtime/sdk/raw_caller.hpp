// A caller that sends what it is told, frame by frame: for what the SDK never sends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/sdk/directory.hpp"
#include "runtime/sdk/frame.hpp"
#include "runtime/workers/descriptor.hpp"

namespace orrery::sdk {

class RawCaller {
 public:
  /// Connects; shakes no hands.
  explicit RawCaller(std::uint16_t port);

  /// Connects and shakes hands as `caller`.
  RawCaller(const Peer& peer, const std::string& caller);

  void send_bytes(std::string_view bytes);

  /// A frame with this header and payload.
  void send(const Value& header, std::string_view payload = {});

  /// The next frame; nothing once the connection has ended, or when patience has.
  std::optional<Frame> receive();

  /// Reads to the end of the connection; whether it came within patience.
  bool ends();

  /// The error of the next `refused` or `error`, past everything else; empty where none comes.
  std::string error_type();

  /// Says hello and proves it; `key` as its 32 bytes. What the worker answers last.
  std::optional<Frame> shake_hands(const std::string& caller,
                                   const std::string& to,
                                   const std::string& key);

 private:
  worker::Descriptor socket_;
  FrameReader reader_{{kHeaderMax, kMessageMax, true}};
  std::vector<std::uint8_t> unread_;
};

/// The bytes of a frame.
std::string frame_bytes(std::string_view header, std::string_view payload = {});

}  // namespace orrery::sdk
