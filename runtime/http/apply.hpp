// POST /api/v1/jobs?apply=1: what a file says of its jobs against what they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/http/api.hpp"

namespace orrery::http {

/// Jobs as a file wants them.
struct WantedJobs {
  std::vector<std::shared_ptr<const JobSpec>> specs;
  std::vector<std::string> warnings;
  std::string key;   ///< Of the client; empty: each try is another one.
  std::string user;  ///< The user that submits new jobs; may be empty.
  bool dry = false;  ///< Says what would be done.
};

/// Submits what is not there, changes what may change while the job lives, and leaves the rest:
/// then the answer is 409. Says of every job what was done.
void apply_jobs(const CallPtr& call, const ControlClient& client, WantedJobs wanted);

}  // namespace orrery::http
