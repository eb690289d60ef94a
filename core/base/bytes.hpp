// Plain binary encoding: little-endian on every host, readable without trust in the input.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// The unsigned integer in the first sizeof(T) bytes at `from`, which need no alignment.
template <std::unsigned_integral T>
inline T load_little_endian(const void* from) {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, from, sizeof value);
  } else {
    const auto* bytes = static_cast<const unsigned char*>(from);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
    }
  }
  return value;
}

/// Stores `value` in the sizeof(T) bytes at `to`, which need no alignment.
template <std::unsigned_integral T>
inline void store_little_endian(void* to, T value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &value, sizeof value);
  } else {
    auto* bytes = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    }
  }
}

/// Small signed numbers as small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

/// Inverse of `zigzag`.
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

/// Appends values to a buffer of its own. Made to be kept and cleared: it never gives memory back.
class ByteWriter {
 public:
  /// What was written; valid until the next write, clear or the writer's end.
  std::span<const std::byte> bytes() const { return {buffer_.data(), size_}; }

  /// The same bytes as characters.
  std::string_view text() const { return {reinterpret_cast<const char*>(buffer_.data()), size_}; }

  std::size_t size() const { return size_; }

  /// Room for `size` bytes in all, so that what is large needs not be moved as it grows.
  void reserve(std::size_t size) { buffer_.reserve(size); }

  /// Forgets what was written, keeps the memory.
  void clear() { size_ = 0; }

  void u8(std::uint8_t value) { *grow(1) = static_cast<std::byte>(value); }

  void boolean(bool value) { u8(value ? 1 : 0); }

  void u16(std::uint16_t value) { store_little_endian(grow(2), value); }

  void u32(std::uint32_t value) { store_little_endian(grow(4), value); }

  void u64(std::uint64_t value) { store_little_endian(grow(8), value); }

  void i64(std::int64_t value) { u64(static_cast<std::uint64_t>(value)); }

  /// The bits of the number: NaNs and the sign of zero survive.
  void f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

  /// One after the other, without their number.
  void f64s(std::span<const double> values) {
    std::byte* to = grow(values.size() * sizeof(double));
    for (const double value : values) {
      store_little_endian(to, std::bit_cast<std::uint64_t>(value));
      to += sizeof(double);
    }
  }

  /// 1 to 10 bytes, 7 bits each, lowest first; the high bit says that more follow.
  void varint(std::uint64_t value) {
    if (value < 0x80) return u8(static_cast<std::uint8_t>(value));
    std::byte* const start = grow(kVarintBytesMax);
    std::byte* to = start;
    while (value >= 0x80) {
      *to++ = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    *to++ = static_cast<std::byte>(value);
    size_ -= kVarintBytesMax - static_cast<std::size_t>(to - start);
  }

  void signed_varint(std::int64_t value) { varint(zigzag(value)); }

  /// Length as a varint, then the bytes.
  void string(std::string_view value) {
    varint(value.size());
    raw(std::as_bytes(std::span(value)));
  }

  /// The bytes alone.
  void raw(std::span<const std::byte> value) {
    std::byte* const to = grow(value.size());
    if (!value.empty()) std::memcpy(to, value.data(), value.size());
  }

  /// Overwrites four bytes written before at `offset` (at most size() - 4): a length known late.
  void patch_u32(std::size_t offset, std::uint32_t value) {
    store_little_endian(buffer_.data() + offset, value);
  }

 private:
  static constexpr std::size_t kVarintBytesMax = 10;

  /// Room for `count` more bytes, already counted in `size_`.
  std::byte* grow(std::size_t count) {
    if (buffer_.size() - size_ < count) enlarge(count);
    std::byte* const start = buffer_.data() + size_;
    size_ += count;
    return start;
  }

  void enlarge(std::size_t count);

  std::vector<std::byte> buffer_;  // Its size is the room; `size_` of it is written.
  std::size_t size_ = 0;
};

/// Reads what a ByteWriter wrote, from bytes that may be truncated or damaged.
///
/// The first read past the end, or of a malformed value, makes `ok()` false for good; that read and
/// all later ones return zero or empty values. So a decoder reads all its fields and asks once.
/// Does not own the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  explicit ByteReader(std::string_view text) : ByteReader(std::as_bytes(std::span(text))) {}

  /// True while nothing has gone wrong.
  bool ok() const { return ok_; }

  /// Bytes not read yet; 0 after a failure.
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - next_); }

  /// All was read, and nothing went wrong.
  bool finished() const { return ok_ && next_ == end_; }

  /// For a decoder that finds a value out of its range.
  void fail() {
    ok_ = false;
    next_ = end_;
  }

  std::uint8_t u8() { return fixed<std::uint8_t>(); }

  /// A byte other than 0 and 1 is malformed.
  bool boolean() {
    const std::uint8_t value = u8();
    if (value > 1) fail();
    return value == 1;
  }

  std::uint16_t u16() { return fixed<std::uint16_t>(); }

  std::uint32_t u32() { return fixed<std::uint32_t>(); }

  std::uint64_t u64() { return fixed<std::uint64_t>(); }

  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }

  double f64() { return std::bit_cast<double>(u64()); }

  /// Longer than needed, or above 64 bits, is malformed: each value has one encoding.
  [[gnu::always_inline]] std::uint64_t varint() {
    // Most numbers of a record are small.
    if (next_ != end_ && static_cast<std::uint8_t>(*next_) < 0x80)
      return static_cast<std::uint64_t>(*next_++);
    return long_varint();
  }

  std::int64_t signed_varint() { return unzigzag(varint()); }

  /// A view into the bytes being read.
  std::string_view string() {
    const std::span<const std::byte> bytes = raw(varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// The next `count` bytes, a view.
  std::span<const std::byte> raw(std::uint64_t count) {
    if (count > remaining()) {
      fail();
      return {};
    }
    const std::span<const std::byte> bytes(next_, static_cast<std::size_t>(count));
    next_ += count;
    return bytes;
  }

 private:
  template <std::unsigned_integral T>
  T fixed() {
    if (remaining() < sizeof(T)) {
      fail();
      return 0;
    }
    const T value = load_little_endian<T>(next_);
    next_ += sizeof(T);
    return value;
  }

  /// Of any length, a malformed one too.
  std::uint64_t long_varint();

  const std::byte* next_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace orrery
