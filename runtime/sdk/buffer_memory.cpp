#include "runtime/sdk/buffer_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Room for so many bytes. The system is asked for huge pages, since it gives many small ones one
/// by one.
std::vector<std::uint8_t> fresh_memory(std::size_t size) {
  std::vector<std::uint8_t> out;
  out.reserve(size);
  if (size < 2 * kHugePage) return out;
  const auto begin = reinterpret_cast<std::uintptr_t>(out.data());
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + size) / kHugePage * kHugePage;
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  return out;
}

}  // namespace

BufferMemory& BufferMemory::instance() {
  static BufferMemory* const memory = new BufferMemory(kKeptBytesMax);
  return *memory;
}

std::vector<std::uint8_t> BufferMemory::take(std::size_t size) {
  {
    const std::scoped_lock lock(mutex_);
    // From the last one given, which the processor has in its caches, perhaps.
    const auto at = std::find_if(kept_.rbegin(), kept_.rend(), [size](const Kept& each) {
      return each.bytes.capacity() >= size && each.bytes.capacity() / 2 <= size;
    });
    if (at != kept_.rend()) {
      std::vector<std::uint8_t> out = std::move(at->bytes);
      size_ -= out.capacity();
      kept_.erase(std::next(at).base());
      return out;
    }
  }
  return fresh_memory(size);
}

void BufferMemory::give(std::vector<std::uint8_t> bytes, Time now) {
  if (bytes.capacity() < kKeptMin || bytes.capacity() > bytes_max_) return;
  std::vector<Kept> dropped;  // Freed without the lock.
  const std::scoped_lock lock(mutex_);
  size_ += bytes.capacity();
  kept_.push_back({std::move(bytes), now});
  auto last = kept_.begin();
  for (; size_ > bytes_max_; ++last) size_ -= last->bytes.capacity();
  dropped.assign(std::make_move_iterator(kept_.begin()), std::make_move_iterator(last));
  kept_.erase(kept_.begin(), last);
}

void BufferMemory::drop_older(Time time) {
  std::vector<Kept> dropped;
  const std::scoped_lock lock(mutex_);
  auto last = kept_.begin();
  for (; last != kept_.end() && last->given_at < time; ++last) size_ -= last->bytes.capacity();
  dropped.assign(std::make_move_iterator(kept_.begin()), std::make_move_iterator(last));
  kept_.erase(kept_.begin(), last);
}

std::size_t BufferMemory::kept() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

void watch_buffer_memory() {
  // Never destroyed: the I/O thread goes on while the program ends.
  static auto& timer = *new Io::Timer;
  if (timer) return;
  timer = Io::instance().after(kKeptFor, [] {
    timer.reset();
    BufferMemory::instance().drop_older(std::chrono::steady_clock::now() - kKeptFor);
    if (BufferMemory::instance().kept() > 0) watch_buffer_memory();
  });
}

void give_memory(std::vector<std::uint8_t>&& bytes) {
  BufferMemory::instance().give(std::move(bytes), std::chrono::steady_clock::now());
}

void give_memory(Value& value) {
  if (value.is_binary()) {
    std::vector<std::uint8_t>& bytes = value.get_binary();
    if (bytes.capacity() >= kKeptMin) give_memory(std::move(bytes));
  } else if (value.is_structured()) {
    for (Value& each : value) give_memory(each);
  }
}

}  // namespace orrery::sdk::detail

namespace orrery::sdk {

Buffer Buffer::of_size(std::size_t size) {
  Buffer out(size < detail::kKeptMin ? std::vector<std::uint8_t>()
                                     : detail::BufferMemory::instance().take(size));
  out.bytes.resize(size);
  return out;
}

}  // namespace orrery::sdk
