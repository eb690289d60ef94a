// Quantities as strong types. Time is integer nanoseconds everywhere in the core.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace orrery {

/// A span of time in nanoseconds; negative spans are allowed in arithmetic, not in specifications.
struct Duration {
  std::int64_t ns = 0;

  static constexpr Duration zero() { return {0}; }

  /// Longer than any run: "never".
  static constexpr Duration forever() { return {std::numeric_limits<std::int64_t>::max()}; }

  static constexpr Duration nanoseconds(std::int64_t n) { return {n}; }

  static constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000'000}; }

  static constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }

  /// Rounds to the nearest nanosecond, halves away from zero; saturates at `forever()` and at
  /// minus 9.2e18 ns, which also stands for what is no number.
  static constexpr Duration from_seconds(double s) {
    const double ns = s * 1e9;
    if (ns >= 9.2e18) return forever();
    if (!(ns > -9.2e18)) return {-9'200'000'000'000'000'000};
    return {static_cast<std::int64_t>(ns < 0 ? ns - 0.5 : ns + 0.5)};
  }

  constexpr double in_seconds() const { return static_cast<double>(ns) / 1e9; }

  constexpr bool is_forever() const { return ns == std::numeric_limits<std::int64_t>::max(); }

  friend constexpr auto operator<=>(Duration, Duration) = default;

  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }

  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }

  friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ns * k}; }

  constexpr Duration& operator+=(Duration d) {
    ns += d.ns;
    return *this;
  }
};

/// A point in time: nanoseconds since the world's own zero (start of a run, or the Unix epoch).
struct Instant {
  std::int64_t ns = 0;

  static constexpr Instant zero() { return {0}; }

  /// After every real instant: "no deadline".
  static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }

  constexpr bool is_never() const { return ns == std::numeric_limits<std::int64_t>::max(); }

  constexpr double in_seconds() const { return static_cast<double>(ns) / 1e9; }

  friend constexpr auto operator<=>(Instant, Instant) = default;

  /// Saturates at `never()`.
  friend constexpr Instant operator+(Instant t, Duration d) {
    if (t.is_never() || d.is_forever() ||
        (d.ns > 0 && t.ns > std::numeric_limits<std::int64_t>::max() - d.ns))
      return never();
    return {t.ns + d.ns};
  }

  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }

  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

/// Memory or data size in bytes.
struct Bytes {
  std::int64_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }

  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
};

/// Processor time in thousandths of a core.
struct MilliCpu {
  std::int64_t count = 0;

  friend constexpr auto operator<=>(MilliCpu, MilliCpu) = default;

  friend constexpr MilliCpu operator+(MilliCpu a, MilliCpu b) { return {a.count + b.count}; }

  friend constexpr MilliCpu operator-(MilliCpu a, MilliCpu b) { return {a.count - b.count}; }
};

/// Part of one device in thousandths, 1 to 1000; 1000 is the whole device.
struct Share {
  std::int32_t thousandths = 1000;

  constexpr bool is_whole() const { return thousandths == 1000; }

  friend constexpr auto operator<=>(Share, Share) = default;
};

}  // namespace orrery
