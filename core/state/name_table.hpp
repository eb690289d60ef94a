// From a job's name to its id, for live jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/plain_array.hpp"
#include "core/base/prefetch.hpp"

namespace orrery {

/// Open addressing over hashes of names; the owner compares the names themselves. It keeps the hash
/// of each, so that a name long unused need not be read to be taken out. Never iterated, so its
/// order decides nothing.
class NameTable {
 public:
  NameTable() : slots_(64, Slot{}) {}

  /// FNV-1a with a final mix: names differ in their last digits.
  static std::uint32_t hash_of(std::string_view name) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    h ^= h >> 32;
    return static_cast<std::uint32_t>((h * 0x9e3779b97f4a7c15) >> 32);
  }

  /// Calls `same(JobId)` for candidates and returns the first for which it is true.
  template <class Same>
  JobId find(std::uint32_t hash, Same&& same) const {
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.is_empty()) return JobId::none();
      if (slot.is_full() && slot.hash == hash && same(slot.job)) return slot.job;
    }
  }

  /// A name of this hash is looked for soon: its place is fetched meanwhile.
  void expect(std::uint32_t hash) const { prefetch(&slots_[hash & mask()]); }

  void insert(std::uint32_t hash, JobId job) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    put({hash, job});
    ++live_;
  }

  /// Whether the job was there.
  bool erase(std::uint32_t hash, JobId job) {
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      if (slots_[i].is_empty()) return false;
      if (slots_[i].job != job) continue;
      slots_[i] = {kErased, JobId::none()};
      --live_;
      return true;
    }
  }

 private:
  // What the hash says where there is no job.
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kErased = 1;

  struct Slot {
    std::uint32_t hash = kEmpty;
    JobId job;

    bool is_full() const { return !job.is_none(); }

    bool is_empty() const { return job.is_none() && hash == kEmpty; }
  };

  std::size_t mask() const { return slots_.size() - 1; }

  void put(const Slot& slot) {
    std::size_t i = slot.hash & mask();
    while (slots_[i].is_full()) i = (i + 1) & mask();
    if (slots_[i].is_empty()) ++used_;
    slots_[i] = slot;
  }

  void grow() {
    const std::size_t least = std::max<std::size_t>(64, live_ * 4);
    std::size_t size = 64;
    while (size < least) size *= 2;
    const PlainArray<Slot> old = std::exchange(slots_, PlainArray<Slot>(size, Slot{}));
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.is_full()) put(slot);
  }

  PlainArray<Slot> slots_;  ///< A power of two, at least half of it empty.
  std::size_t used_ = 0;    ///< Full and erased.
  std::size_t live_ = 0;
};

}  // namespace orrery
