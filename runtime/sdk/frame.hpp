// Frames of the call protocol: two lengths, a header, buffers. No sockets here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/sdk/value_text.hpp"

namespace orrery::sdk {

inline constexpr std::uint64_t kHeaderMax = 1 << 20;
inline constexpr std::uint64_t kHeaderMaxUnknown = 4096;  ///< Until the caller is known.
inline constexpr std::uint64_t kMessageMax = std::uint64_t{2} << 30;

/// What a reader takes.
struct FrameLimits {
  std::uint64_t header_max = kHeaderMaxUnknown;
  std::uint64_t payload_max = 0;  ///< Longer payloads are skipped.
  bool may_have_payload = false;  ///< Otherwise a payload breaks a rule.
};

/// One frame that was read.
struct Frame {
  Value header;
  std::vector<std::vector<std::uint8_t>> buffers;
  std::uint64_t skipped = 0;  ///< Bytes of a payload that was too long; then there are no buffers.
};

/// Puts frames together from bytes as they come. Buffers are allocated one by one as their bytes
/// come, and big ones are read into in place.
class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits) : limits_(limits) {}

  /// For the frames to come.
  void limit(FrameLimits limits) { limits_ = limits; }

  /// Takes bytes off the front of `bytes` until a frame is complete, a rule is broken or nothing is
  /// left. True: `take` has a frame.
  bool feed(std::span<const std::uint8_t>& bytes);

  /// The rest of a big buffer, to be read into; empty where bytes are better fed.
  std::span<std::uint8_t> direct_space();

  /// So many bytes of `direct_space` have come. True: `take` has a frame.
  bool advance(std::size_t size);

  /// The frame that is complete.
  Frame take();

  /// Why nothing more can be read; empty while it can.
  const std::string& broken() const { return broken_; }

  /// Whether part of a frame has come.
  bool is_inside() const { return stage_ != Stage::Lengths || have_ > 0; }

 private:
  enum class Stage : std::uint8_t { Lengths, Header, Buffers, Skipping, Complete };

  bool on_lengths();
  bool on_header();
  bool next_buffer();
  std::span<std::uint8_t> space(std::size_t size_max);
  bool fail(std::string why);

  FrameLimits limits_;
  Stage stage_ = Stage::Lengths;
  std::array<std::uint8_t, 12> lengths_{};
  std::size_t have_ = 0;  ///< Bytes of the stage's part, or of the buffer under way.
  std::uint64_t header_size_ = 0;
  std::uint64_t payload_size_ = 0;
  std::string header_;
  std::vector<std::uint64_t> sizes_;
  std::size_t size_ = 0;  ///< Of the buffer under way, which grows to it as its bytes come.
  Frame frame_;
  std::string broken_;
};

/// A frame to be sent: text of our own and buffers that lie elsewhere.
struct OutgoingFrame {
  std::string head;  ///< Lengths and header.
  std::vector<ByteView> buffers;
  std::shared_ptr<const void> owner;  ///< Of the buffers.
};

/// `header` is the JSON text of a header. Nothing where it is longer than kHeaderMax.
std::optional<OutgoingFrame> frame_of(std::string_view header,
                                      std::vector<ByteView> buffers = {},
                                      std::shared_ptr<const void> owner = nullptr);

/// `,"buffers":[3,4]`, the field for these buffers.
std::string buffers_field(const std::vector<ByteView>& buffers);

std::uint64_t bytes_in(const std::vector<ByteView>& buffers);

}  // namespace orrery::sdk
