// The waiting jobs in the order that every policy starts from: priority first, then age.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// One waiting job with what a backfilling scan reads, so that the scan stays in few cache lines.
struct WaitEntry {
  JobId job;
  std::int32_t devices = 0;  ///< Free devices without which it cannot start (JobRow::gang_room).
  Duration estimate;         ///< Stated run time; zero where none.
};

/// A number below 64 that jobs share which ask for the same; others may share it, too. A scan for
/// jobs of some kinds passes over stretches of the queue without any.
using WaitKind = std::uint8_t;

/// Kinds as bits.
using WaitKinds = std::uint64_t;

inline constexpr WaitKinds kEveryKind = ~WaitKinds{0};

/// What a scan still looks for; its visitor may change it.
struct WaitScan {
  std::size_t from = 0;          ///< The first place in the queue, counted from 0.
  std::size_t end = SIZE_MAX;    ///< The place where it stops.
  WaitKinds kinds = kEveryKind;  ///< Jobs of other kinds are passed over.
};

/// Jobs that wait and may be granted, ordered by (priority descending, JobId ascending).
/// A job that comes back takes its old place. Insertion and removal cost O(log jobs) and the move
/// of a few hundred entries at most; a scan reads dense memory, without gaps.
class WaitQueue {
 public:
  /// Adds a job, or replaces the entry that waits with this priority under the same id. The kind is
  /// below 64.
  void insert(std::int32_t priority, const WaitEntry& entry, WaitKind kind = 0);

  /// Removes a job that waits with this priority; false if it does not.
  bool erase(std::int32_t priority, JobId job);

  std::size_t size() const { return size_; }

  bool empty() const { return size_ == 0; }

  /// The longest that the queue ever was.
  std::size_t size_max() const { return size_max_; }

  /// Calls `visit(const WaitEntry&)` in queue order until it returns false.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane)
      for (const Chunk& chunk : lane->second.chunks)
        for (const WaitEntry& entry : chunk.entries)
          if (!visit(entry)) return;
  }

  /// Calls `visit(const WaitEntry&, WaitKind)` in queue order for the jobs that `scan` looks for
  /// when their turn comes, until it returns false. Costs little for a stretch without any.
  template <class Visit>
  void for_each_of(WaitScan& scan, Visit&& visit) const {
    std::size_t place = 0;
    for (auto lane = lanes_.rbegin(); lane != lanes_.rend(); ++lane)
      for (const Chunk& chunk : lane->second.chunks) {
        if (place >= scan.end || scan.kinds == 0) return;
        const std::size_t size = chunk.entries.size();
        if ((chunk.present & scan.kinds) != 0)
          for (std::size_t i = scan.from > place ? scan.from - place : 0; i < size; ++i) {
            if ((scan.kinds >> chunk.kinds[i] & 1) == 0) continue;
            if (place + i >= scan.end || !visit(chunk.entries[i], chunk.kinds[i])) return;
          }
        place += size;
      }
  }

  /// Whether the job, which waits with this priority, is among the first `count` in order.
  bool among_first(std::size_t count, std::int32_t priority, JobId job) const;

  /// The first in order; none where the queue is empty.
  JobId front() const {
    return lanes_.empty() ? JobId::none() : lanes_.rbegin()->second.firsts.front();
  }

 private:
  struct Chunk {
    std::vector<WaitEntry> entries;
    std::vector<WaitKind> kinds;                ///< [entry]: a scan for some reads these alone.
    std::array<std::uint16_t, 64> counts = {};  ///< [kind]
    WaitKinds present = 0;                      ///< Those with a count.

    void count(WaitKind kind, std::int32_t more);
    void insert(std::size_t place, const WaitEntry& entry, WaitKind kind);
    void erase(std::size_t place);

    /// Moves the entries from `place` on to the end of the other.
    void move_to(Chunk& other, std::size_t place);
  };

  /// The waiting jobs of one priority by id, in chunks so that none is long to move. A lane that
  /// runs empty is dropped, and so is an empty chunk.
  struct Lane {
    std::vector<JobId> firsts;  ///< [chunk] -> id of its first entry: searched without a detour.
    std::vector<Chunk> chunks;
  };

  static std::size_t chunk_of(const Lane& lane, JobId job);
  static void split(Lane& lane, std::size_t chunk);
  static void merge(Lane& lane, std::size_t chunk);

  std::map<std::int32_t, Lane> lanes_;  ///< By priority; few.
  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
};

}  // namespace orrery
