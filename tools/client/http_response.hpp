// Reads one HTTP/1.1 response from a stream: the head, then the body piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/client/stream.hpp"

namespace orrery::cli {

/// What the client looks at of a head.
struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::string location;
};

/// Bounded: a head of at most 64 KiB. What is no HTTP is an Unavailable error.
class ResponseReader {
 public:
  /// `stream` outlives the reader.
  explicit ResponseReader(Stream& stream) : stream_(stream) {}

  Result<ResponseHead> head(Deadline deadline);

  /// The next piece of the body, after `head`; empty at its end.
  Result<std::string> body(Deadline deadline);

 private:
  enum class Framing : std::uint8_t { Length, Chunked, UntilClose };

  Status take_header(std::string_view line, ResponseHead& head);
  Status fill(Deadline deadline);
  Result<std::string> line(Deadline deadline);
  Status next_chunk(Deadline deadline);
  Status end_of_chunks(Deadline deadline);

  Stream& stream_;
  std::string buffer_;  ///< Read, not taken yet.
  bool closed_ = false;
  bool heard_ = false;  ///< Any byte.
  Framing framing_ = Framing::UntilClose;
  std::uint64_t left_ = 0;  ///< Of the body, or of the chunk.
  bool in_chunk_ = false;
  bool done_ = false;
};

}  // namespace orrery::cli
