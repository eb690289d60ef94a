#include "runtime/sdk/launch.hpp"

#include <numeric>

#include "runtime/sdk/environment.hpp"
#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/peers.hpp"

namespace orrery::sdk {
namespace {

constexpr int kTriesMax = 5;

void set_text(Value& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

/// What a refusal of the controller names, one finding per line of it.
std::vector<std::string> findings_of(const HttpAnswer& answer) {
  std::vector<std::string> out;
  const Value document = Value::parse(answer.body, nullptr, false);
  const Value error =
      document.is_object() && document.contains("error") ? document["error"] : Value();
  if (error.is_object() && error.contains("details") && error["details"].is_array())
    for (const Value& detail : error["details"])
      if (detail.is_string()) out.push_back(detail.get<std::string>());
  if (out.empty() && error.is_object() && error.contains("message") && error["message"].is_string())
    out.push_back(error["message"].get<std::string>());
  if (out.empty())
    out.push_back("the controller answered HTTP status " + std::to_string(answer.status));
  return out;
}

/// Asks again, and the next one of several, where no controller answered, which a submission with a
/// name of its own allows.
HttpAnswer ask_until_answered(ControllerAccess controller, const HttpAsk& ask) {
  HttpAnswer out;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    out = ask_controller_now(controller, ask);
    if (out.failure.empty() && out.status != 503) return out;
    turn_to_next(controller);
  }
  return out;
}

[[noreturn]] void raise_unanswered(const HttpAnswer& answer) {
  raise(
      detail::error_fields(answer.for_good.empty() ? "Timeout" : answer.for_good, answer.failure));
}

std::string job_path(const Driver& driver) { return "/api/v1/jobs/" + url_part(driver.job()); }

}  // namespace

VirtualCluster::VirtualCluster(std::vector<std::int64_t> bundles_per_node,
                               VirtualClusterOptions options)
    : bundles_per_node_(std::move(bundles_per_node)), options_(std::move(options)) {
  for (const std::int64_t bundles : bundles_per_node_)
    if (bundles < 0)
      throw BadArguments("virtual cluster " + options_.name + ": found " + std::to_string(bundles) +
                         " bundles, needed 0 or more; correct it");
  if (size() == 0)
    throw BadArguments("virtual cluster " + options_.name +
                       ": found no bundles, needed at least one; give a node some");
}

std::int64_t VirtualCluster::size() const {
  return std::accumulate(bundles_per_node_.begin(), bundles_per_node_.end(), std::int64_t{0});
}

std::vector<PlacementGroup> VirtualCluster::placement_groups() const {
  if (options_.unified) return {{0, size()}};
  std::vector<PlacementGroup> out;
  for (const std::int64_t bundles : bundles_per_node_)
    if (bundles > 0) out.push_back({static_cast<std::int64_t>(out.size()), bundles});
  return out;
}

Value VirtualCluster::in_job_file() const {
  Value out = {{"bundles_per_node", bundles_per_node_},
               {"devices_per_bundle", options_.devices_per_bundle},
               {"max_worker_groups", options_.max_worker_groups},
               {"unified", options_.unified}};
  set_text(out, "strategy", options_.strategy);
  set_text(out, "device_model", options_.device_model);
  set_text(out, "cpu", options_.cpu);
  set_text(out, "memory", options_.memory);
  set_text(out, "segment_by", options_.segment_by);
  if (options_.segment_size > 0) out["segment_size"] = options_.segment_size;
  return out;
}

Value job_of(const VirtualCluster& cluster,
             const WorkerConfig& config,
             const LaunchOptions& options) {
  Value role = config.more;
  role["command"] = config.command;
  if (!config.environment.empty()) role["env"] = config.environment;
  if (config.per_node.empty()) {
    role["virtual_cluster"] = cluster.name();
  } else {
    role["workers"] = {{"virtual_cluster", cluster.name()}, {"per_node", config.per_node}};
  }
  Value job = options.more;
  job["name"] = options.driver.job;
  job["virtual_clusters"][cluster.name()] = cluster.in_job_file();
  job["roles"][config.role] = std::move(role);
  return job;
}

LaunchedJob launch(Value job, const LaunchOptions& options) {
  const DirectoryAccess access = detail::driver_access(options.driver, detail::process_variable);
  HttpAsk ask;
  ask.method = "POST";
  ask.target = "/api/v1/jobs";
  ask.body = job.dump();
  ask.idempotency_key = random_hex(16);
  const HttpAnswer answer = ask_until_answered(access.controller, ask);
  if (!answer.failure.empty()) raise_unanswered(answer);
  if (answer.status == 401 || answer.status == 403)
    raise(detail::error_fields("NotAuthorised", findings_of(answer).front()));
  if (answer.status != 200) throw BadSettings(findings_of(answer));
  DriverOptions driver = options.driver;
  return LaunchedJob(Driver(std::move(driver)));
}

std::string LaunchedJob::phase() const {
  HttpAsk ask;
  ask.target = job_path(driver_);
  const HttpAnswer answer = ask_until_answered(driver_.peers()->access().controller, ask);
  if (!answer.failure.empty()) raise_unanswered(answer);
  if (answer.status != 200)
    raise(detail::error_fields("NoSuchWorker", findings_of(answer).front()));
  const Value document = Value::parse(answer.body, nullptr, false);
  if (!document.is_object() || !document.contains("phase") || !document["phase"].is_string())
    raise(detail::error_fields("Protocol", "the controller's answer has no phase of the job"));
  return document["phase"].get<std::string>();
}

void LaunchedJob::stop() {
  HttpAsk ask;
  ask.method = "POST";
  ask.target = job_path(driver_) + "/stop";
  const HttpAnswer answer = ask_until_answered(driver_.peers()->access().controller, ask);
  if (!answer.failure.empty()) raise_unanswered(answer);
  if (answer.status != 200)
    raise(detail::error_fields("NoSuchWorker", findings_of(answer).front()));
}

}  // namespace orrery::sdk
