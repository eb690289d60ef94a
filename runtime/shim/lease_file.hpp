// The agent's lease as its shims see it: a file in shared memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery::runtime {

/// Nanoseconds that count on while the machine sleeps and that all processes of one boot share;
/// what leases are measured by.
Instant boot_time();

/// Nanoseconds since 1970 by the machine's calendar, which people may set: for what people read.
std::int64_t wall_clock();

/// The kernel's name of this run of the machine; empty where it has none.
std::string boot_id();

/// What an agent held when it wrote.
struct LeaseNote {
  Epoch epoch;
  Instant until;
};

/// A mapped lease file. Two notes take turns, each with a sum over it, so a writer killed in the
/// middle of a note leaves the one before. A note of an earlier boot counts as none.
class LeaseFile {
 public:
  /// For the agent: makes the file where there is none. Not ok where the system refuses.
  static LeaseFile for_writing(const std::string& path);

  /// For the shim.
  static LeaseFile for_reading(const std::string& path);

  LeaseFile(LeaseFile&& other) noexcept;
  LeaseFile& operator=(LeaseFile&& other) noexcept;
  ~LeaseFile();

  bool ok() const { return notes_ != nullptr; }

  /// The newest whole note; epoch 0 and instant 0 where there is none: a lease that is over.
  LeaseNote read() const;

  /// Only for the one writer.
  void write(const LeaseNote& note);

 private:
  struct Note {
    std::atomic<std::uint64_t> number;  ///< Counts up over both; 0: never written.
    std::atomic<std::uint64_t> boot;
    std::atomic<std::uint64_t> epoch;
    std::atomic<std::int64_t> until;
    std::atomic<std::uint64_t> sum;
  };

  LeaseFile() = default;
  static LeaseFile map(const std::string& path, bool writable);
  static bool whole(const Note& note, std::uint64_t& number, LeaseNote& out, std::uint64_t boot);

  Note* notes_ = nullptr;  ///< Two of them.
  std::uint64_t boot_ = 0;
};

}  // namespace orrery::runtime
