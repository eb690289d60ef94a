// Waiting until jobs have ended.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/client/session.hpp"

namespace orrery::cli {

/// A job that is waited for.
struct AwaitedJob {
  std::string name;
  std::optional<std::int64_t> number;  ///< Tells it from others that have its name later; none: the
                                       ///< first that has it.
};

/// Asks until every job is Succeeded or Failed; tells each change of phase on standard error. A
/// controller that does not answer for a while, as during a restart, is waited for. Returns the
/// last documents in the order of `jobs`; `session.code()` says how it ended: 1 where a job failed
/// or was deleted, 5 where the controller stayed away for a minute, 130 after Ctrl-C.
nlohmann::json wait_for_jobs(Session& session, const std::vector<AwaitedJob>& jobs);

}  // namespace orrery::cli
