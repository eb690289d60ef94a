// What a job wants done when something fails, and its deadlines.
#include <utility>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// A time, or `never`.
void read_patience(const MapReader& reader, std::string_view key, Duration& to) {
  const YamlNode* node = reader.find(key);
  if (node != nullptr && node->is_scalar() && node->scalar == "never")
    to = Duration::forever();
  else
    reader.read_duration(key, to);
}

/// A count, or `unlimited`.
void read_limit(const MapReader& reader, std::string_view key, std::int32_t& to) {
  const YamlNode* node = reader.find(key);
  if (node != nullptr && node->is_scalar() && node->scalar == "unlimited")
    to = kUnlimited;
  else
    reader.read_integer(key, to, 0, INT32_MAX);
}

void need_above_zero(const MapReader& reader, std::string_view key, Duration value) {
  if (value == Duration::zero())
    reader.fail(key, "is 0, a time above 0 is needed; write for example 60s");
}

void read_limits(const MapReader& reader, FailoverSpec& to) {
  read_limit(reader, "worker_failures_max", to.worker_failures_max);
  read_limit(reader, "worker_node_failures_max", to.worker_node_failures_max);
  read_limit(reader, "role_restarts_max", to.role_restarts_max);
  read_limit(reader, "job_restarts_max", to.job_restarts_max);
  read_limit(reader, "node_losses_max", to.node_losses_max);
  read_limit(reader, "preemptions_max", to.preemptions_max);
  read_limit(reader, "nodes_relaunched_max", to.nodes_relaunched_max);
}

void read_times(const MapReader& reader, FailoverSpec& to) {
  const std::pair<std::string_view, Duration*> times[]{
      {"reset_window", &to.reset_window},
      {"relaunch_timeout", &to.relaunch_timeout},
      {"relaunch_group_timeout", &to.relaunch_group_timeout},
      {"sub_master_timeout", &to.sub_master_timeout},
      {"hang_after", &to.hang_after}};
  for (const auto& [key, time] : times) {
    read_patience(reader, key, *time);
    need_above_zero(reader, key, *time);
  }
}

}  // namespace

void read_failover(const MapReader& job, JobSpec& spec) {
  read_patience(job, "wait_deadline", spec.wait_deadline);
  read_patience(job, "run_deadline", spec.run_deadline);
  need_above_zero(job, "wait_deadline", spec.wait_deadline);
  need_above_zero(job, "run_deadline", spec.run_deadline);
  const YamlNode* node = job.find("failover");
  if (node == nullptr) return;
  const MapReader reader(
      job.reading(), *node, section("jobs.failover"), job.subject_of("failover"));
  FailoverSpec& to = spec.failover.edit();
  reader.read_enum("mode", to.mode);
  reader.read_enum("trigger", to.trigger);
  reader.read_enum("response", to.response);
  read_limits(reader, to);
  read_times(reader, to);
  reader.read_number("jitter", to.jitter, 0, 1);
  reader.read_bool("relaunch_group", to.relaunch_group);
  reader.read_bool("hang_restarts", to.hang_restarts);
  reader.read_number("straggler_factor", to.straggler_factor, 0, 1e6);
  reader.read_bool("straggler_moves", to.straggler_moves);
  if (to.straggler_factor > 0 && to.straggler_factor <= 1)
    reader.fail(
        "straggler_factor",
        "is not above 1, and some worker is always as slow as the median; raise it, or write "
        "0 to look at no step times");
}

}  // namespace orrery::scenarios
