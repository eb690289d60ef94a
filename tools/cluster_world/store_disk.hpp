// A small disk for the controller's journal, which can be full.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery::cli {

/// A file system of this process and its children alone, in memory, which goes with them. A disk
/// without a folder is none.
class StoreDisk {
 public:
  StoreDisk() = default;
  StoreDisk(StoreDisk&& other) noexcept;
  StoreDisk& operator=(StoreDisk&& other) noexcept;
  ~StoreDisk();

  /// Mounts it at `folder`, which is made. Moves the calling process into a mount namespace of its
  /// own. Errors: Unavailable, without root.
  static Result<StoreDisk> mount(const std::string& folder);

  /// Takes all room there is: whatever is written meets a full disk. Errors: Unavailable.
  Status fill();

  /// Gives the room back, once for each `fill`.
  Status clear();

 private:
  std::string folder_;
  int fills_ = 0;
};

}  // namespace orrery::cli
