#include "core/base/bytes.hpp"

#include <algorithm>

namespace orrery {

void ByteWriter::enlarge(std::size_t count) {
  constexpr std::size_t kSmallest = 256;
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  // Twice as much of something large would be most of what a program needs.
  const std::size_t more = buffer_.size() < kLarge ? buffer_.size() : buffer_.size() / 4;
  buffer_.resize(std::max({kSmallest, buffer_.size() + more, size_ + count}));
}

std::uint64_t ByteReader::long_varint() {
  constexpr std::size_t kBytesMax = 10;
  const std::byte* at = next_;
  const std::byte* const end = at + std::min(remaining(), kBytesMax);
  std::uint64_t value = 0;
  for (unsigned shift = 0; at != end; shift += 7) {
    const auto byte = static_cast<std::uint64_t>(*at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if ((byte == 0 && shift > 0) || (shift == 63 && byte > 1)) break;
      next_ = at;
      return value;
    }
  }
  fail();
  return 0;
}

}  // namespace orrery
