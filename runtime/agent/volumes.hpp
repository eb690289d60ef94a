// Volumes of a worker: host folders that its node allows.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// One "source:target" of a role, found good.
struct Volume {
  std::string source;  ///< Absolute, without links, at or below an allowed root.
  std::string target;  ///< Absolute, or relative to the worker's own folder and staying in it.

  bool is_relative() const { return target.front() != '/'; }
};

/// Checks volumes against the roots that the node allows, after resolving links in both. Errors:
/// all that is wrong, one for each volume.
Result<std::vector<Volume>> find_volumes(const std::vector<std::string>& volumes,
                                         const std::vector<std::string>& roots);

/// How volumes come about on the host: a relative target as a link in `work`, made here; an
/// absolute one as a mount that only the worker sees, for which the agent must be root and the
/// target be there.
Result<std::vector<BindMount>> place_volumes(const std::vector<Volume>& volumes,
                                             const std::string& work);

}  // namespace orrery::runtime
