// A membership as workers read it: one line of JSON.
#pragma once

#include <string>

#include "core/job/spec.hpp"
#include "runtime/agent/worker_record.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// {"membership":{"generation":2,"rank":1,"world_size":3,"master":{"address":...,"port":...},
/// "members":[{"rank":0,"role":"actor","local_rank":0,"node":"n0","address":"127.0.0.1",
/// "first_port":22270},...]}}
///
/// `worker` is at its place in the generation that it was last told of; `members` may be younger,
/// and then another line follows.
std::string membership_text(const WorkerRecord& worker, const JobSpec& job, const Members& members);

}  // namespace orrery::runtime
