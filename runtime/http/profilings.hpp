// What workers measure, told over HTTP.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/http/api.hpp"

namespace orrery::http {

/// The header by which a worker identifies itself: JOB-INCARNATION-BIRTHRANK, as ORRERY_WORKER has
/// it.
inline constexpr std::string_view kWorkerHeader = "X-Orrery-Worker";

/// A worker's name as that header and ORRERY_WORKER have it.
std::string worker_text(const WorkerName& worker);

/// The live worker of `job` that the request's header names; null where it has none, or names none.
const Worker* asking_worker(const Request& request, const JobState& job);

/// Reads the body of a profiling and journals it for the job; `done` runs on the I/O thread once it
/// is durable and in state. Everything else is answered here. `check`, on the core thread, may turn
/// the request away and answers then.
void post_profilings(const CallPtr& call,
                     const ControlClient& client,
                     const std::string& job,
                     std::function<bool(const JobState&)> check,
                     std::function<void()> done);

/// The latest value of each key, in order of first appearance.
std::vector<std::pair<std::string, double>> latest_profilings(const JobState& job);

/// {"key": value, ...}
std::string numbers_json(const std::vector<std::pair<std::string, double>>& numbers);

}  // namespace orrery::http
