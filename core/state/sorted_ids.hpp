// A set of jobs that changes often and is read now and then, as a sorted list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/ids.hpp"

namespace orrery {

/// Insertion and erasure cost O(log) amortised, whatever the order: they are only noted, and merged
/// into the list when it is read or when many have come together. Reading is not for two threads at
/// once.
class SortedIds {
 public:
  /// The job is a member from now on, whether or not it was.
  void insert(JobId job) { note({job, true}); }

  /// The job is no member from now on, whether or not it was.
  void erase(JobId job) { note({job, false}); }

  /// Ascending; valid until the next change.
  const std::vector<JobId>& list() const {
    merge();
    return list_;
  }

 private:
  struct Change {
    JobId job;
    bool in = false;
  };

  void note(Change change) {
    changes_.push_back(change);
    if (changes_.size() > list_.size() / 4 + 64) merge();
  }

  // Nearly always there are few of them, and a look for room to sort them in costs more than that.
  void sort_changes() const {
    constexpr std::size_t kFew = 32;
    const auto before = [](const Change& a, const Change& b) { return a.job < b.job; };
    if (changes_.size() > kFew) return std::stable_sort(changes_.begin(), changes_.end(), before);
    for (auto it = changes_.begin(); it != changes_.end(); ++it)
      std::rotate(std::upper_bound(changes_.begin(), it, *it, before), it, it + 1);
  }

  // One pass over both; of several changes of one job the last counts.
  void merge() const {
    if (changes_.empty()) return;
    sort_changes();
    merged_.clear();
    auto old = list_.begin();
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      if (i + 1 < changes_.size() && changes_[i + 1].job == change.job) continue;
      const auto from = old;
      old = std::lower_bound(old, list_.end(), change.job);
      merged_.insert(merged_.end(), from, old);
      if (old != list_.end() && *old == change.job) ++old;
      if (change.in) merged_.push_back(change.job);
    }
    merged_.insert(merged_.end(), old, list_.end());
    merged_.swap(list_);
    changes_.clear();
  }

  mutable std::vector<JobId> list_;  ///< Without `changes_`.
  mutable std::vector<Change> changes_;
  mutable std::vector<JobId> merged_;  ///< Scratch.
};

}  // namespace orrery
