// A 128-bit fingerprint of bytes: fast, equal on every host, not for security.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/bytes.hpp"

namespace orrery {

/// A fingerprint. The default value stands for "nothing yet".
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(Digest, Digest) = default;

  /// 32 lower-case hexadecimal digits.
  std::string to_hex() const;

  /// Inverse of `to_hex`; upper-case digits too. Nothing for any other text.
  static std::optional<Digest> from_hex(std::string_view text);
};

/// Computes the Digest of a sequence of bytes given in pieces; only the bytes count, not the cuts.
///
/// Each block of 16 bytes, as two little-endian words, is folded in by a step that can be undone,
/// so two states never merge; `finish` mixes in the length and spreads every bit over both words.
/// Known inputs can be made to collide on purpose: no defence against malice.
class Digester {
 public:
  Digester() = default;

  /// Continues a chain: the digest of record n begins that of record n + 1.
  explicit Digester(Digest previous) : a_(previous.high), b_(previous.low) {}

  void update(std::span<const std::byte> bytes) {
    const std::byte* from = bytes.data();
    std::size_t left = bytes.size();
    length_ += left;
    if (waiting_count_ > 0 && waiting_count_ + left >= kBlock) {
      const std::size_t missing = kBlock - waiting_count_;
      std::memcpy(waiting_.data() + waiting_count_, from, missing);
      from += missing;
      left -= missing;
      waiting_count_ = 0;
      fold(waiting_.data());
    }
    if (waiting_count_ == 0) {
      for (; left >= kBlock; left -= kBlock, from += kBlock) fold(from);
    }
    if (left > 0) {
      std::memcpy(waiting_.data() + waiting_count_, from, left);
      waiting_count_ += left;
    }
  }

  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }

  /// The eight bytes of `value`, lowest first.
  void update(std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    store_little_endian(bytes.data(), value);
    update(std::span<const std::byte>(bytes));
  }

  /// Digest of all bytes so far; more may follow.
  Digest finish() const {
    std::uint64_t a = a_;
    std::uint64_t b = b_;
    if (waiting_count_ > 0) {
      std::array<std::byte, kBlock> last{};
      std::memcpy(last.data(), waiting_.data(), waiting_count_);
      fold_into(a,
                b,
                load_little_endian<std::uint64_t>(last.data()),
                load_little_endian<std::uint64_t>(last.data() + 8));
    }
    a ^= length_ * kOdd1;
    b += length_;
    a += b;
    b += a;
    a = spread(a);
    b = spread(b);
    a += b;
    b += a;
    return {a, b};
  }

 private:
  static constexpr std::size_t kBlock = 16;
  // Odd 64-bit numbers: the first digits after the point of pi, e, sqrt(2) and sqrt(3), last bit
  // set.
  static constexpr std::uint64_t kOdd1 = 0x243f6a8885a308d3;
  static constexpr std::uint64_t kOdd2 = 0xb7e151628aed2a6b;
  static constexpr std::uint64_t kOdd3 = 0x6a09e667f3bcc909;
  static constexpr std::uint64_t kOdd4 = 0xbb67ae8584caa73b;

  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): four words of one state, no quantities
  static void fold_into(std::uint64_t& a, std::uint64_t& b, std::uint64_t x, std::uint64_t y) {
    x = std::rotl(x * kOdd2, 29) * kOdd3;
    y = std::rotl(y * kOdd4, 35) * kOdd1;
    a = (std::rotl(a ^ x, 27) + b) * 9 + kOdd4;
    b = (std::rotl(b ^ y, 33) + a) * 5 + kOdd2;
  }

  void fold(const std::byte* block) {
    fold_into(a_,
              b_,
              load_little_endian<std::uint64_t>(block),
              load_little_endian<std::uint64_t>(block + 8));
  }

  /// Every input bit moves every output bit with probability near one half.
  static std::uint64_t spread(std::uint64_t v) {
    v ^= v >> 32;
    v *= kOdd3 ^ kOdd4 ^ 1;  // Kept odd.
    v ^= v >> 29;
    v *= kOdd2;
    v ^= v >> 32;
    v *= kOdd1;
    v ^= v >> 31;
    return v;
  }

  std::uint64_t a_ = kOdd1;
  std::uint64_t b_ = kOdd2;
  std::uint64_t length_ = 0;
  std::array<std::byte, kBlock> waiting_{};  // Bytes of a block not yet whole.
  std::size_t waiting_count_ = 0;
};

/// Digest of `text` alone.
inline Digest digest_of(std::string_view text) {
  Digester digester;
  digester.update(text);
  return digester.finish();
}

}  // namespace orrery
