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

}  // namespace orrery
