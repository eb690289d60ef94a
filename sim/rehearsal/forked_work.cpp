#include "sim/rehearsal/forked_work.hpp"

#include <algorithm>

namespace orrery::sim {

scenarios::WorkSpec forked_work(Duration left, std::int32_t size, double rate) {
  scenarios::WorkSpec work;
  work.base_replicas = std::max(1, size);
  work.base_rate = rate > 0 ? rate : 1;
  work.units = work.base_rate * left.in_seconds();
  return work;
}

ModelJob forked_arrival(const JobState& job, Instant at, Duration left) {
  ModelJob out;
  out.spec = job.spec;
  out.submit = at;
  out.work = forked_work(left, rigid_replicas(*job.spec), 1);
  return out;
}

}  // namespace orrery::sim
