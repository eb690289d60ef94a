#include "core/base/bytes.hpp"

#include <algorithm>

namespace orrery {

void ByteWriter::enlarge(std::size_t count) {
  constexpr std::size_t kSmallest = 256;
  buffer_.resize(std::max({kSmallest, 2 * buffer_.size(), size_ + count}));
}

}  // namespace orrery
