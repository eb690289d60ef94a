// Folders that are removed a little at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace orrery::runtime {

/// What is left to remove of folders. A worker may have made a hundred thousand files, and an agent
/// that removed them in one go would renew no lease meanwhile. Used by one thread.
class Removals {
 public:
  /// `folder`: where those that go are moved to first; made when it is needed, on the file system
  /// that they lie on. What an earlier life has left there goes, too.
  explicit Removals(std::string folder);

  /// The path is free at once; what lay there goes with `go_on`. Nothing there: nothing is done.
  void take(const std::string& path);

  bool empty() const { return going_.empty(); }

  /// Removes up to so many entries, above 0. What cannot be removed is left to the next life.
  void go_on(int entries);

 private:
  std::string folder_;
  std::deque<std::string> going_;
  std::uint64_t next_ = 0;  ///< A name that nothing in `folder_` has.
};

}  // namespace orrery::runtime
