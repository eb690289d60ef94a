#include "sim/search/searched_job.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery::sim {
namespace {

using scenarios::LoopSpec;
using scenarios::ScenarioJob;
using scenarios::SearchSpec;

constexpr const char* kNoTimes =
    "no stage times are stated: work.loop with the times of its parts is needed; write for example "
    "loop: {generate: {role: rollout, ...}, train: {role: actor, time: 60s}}";

const LoopSpec* loop_of(const ScenarioJob& job) {
  if (job.work.traffic == nullptr || job.work.traffic->loop.sequences == 0) return nullptr;
  return &job.work.traffic->loop;
}

/// "train" and "default.train" are the same job.
bool is_called(const ScenarioJob& job, std::string_view name) {
  const std::string& full = job.spec.name;
  return full == name || (full.size() > name.size() && full.ends_with(name) &&
                          full[full.size() - name.size() - 1] == '.');
}

Error error_at(const scenarios::Scenario& scenario, const ScenarioJob* job, std::string message) {
  Error error;
  error.file = scenario.file;
  if (job != nullptr) {
    error.line = job->line;
    error.subject = "job " + job->spec.name;
  }
  error.message = std::move(message);
  return error;
}

Result<const ScenarioJob*> chosen_job(const scenarios::Scenario& scenario, std::string_view name) {
  std::vector<const ScenarioJob*> with_loop;
  std::string names;
  for (const ScenarioJob& job : scenario.jobs) {
    if (!name.empty()) {
      if (is_called(job, name)) return &job;
    } else if (loop_of(job) != nullptr) {
      with_loop.push_back(&job);
    }
    names += (names.empty() ? "" : ", ") + job.spec.name;
  }
  if (!name.empty())
    return error_at(scenario,
                    nullptr,
                    "--job is '" + std::string(name) + "', which the scenario does not have; " +
                        (names.empty() ? "it has no jobs" : "name one of " + names));
  if (with_loop.size() == 1) return with_loop.front();
  if (with_loop.empty())
    return error_at(
        scenario, scenario.jobs.size() == 1 ? &scenario.jobs.front() : nullptr, kNoTimes);
  return error_at(scenario,
                  nullptr,
                  std::to_string(with_loop.size()) +
                      " jobs have a loop, one is searched for at a time; choose it with --job");
}

/// Collects what is wrong with the job while it is read.
class JobReader {
 public:
  JobReader(const scenarios::Scenario& scenario, const ScenarioJob& job, const LoopSpec& loop)
      : scenario_(scenario), job_(job), loop_(loop) {
    out_.name = job.spec.name;
    out_.scenario = &scenario;
    out_.loop = &loop;
    out_.limits = loop.search.value_or(SearchSpec{});
    if (!loop.search && loop.stream) out_.limits.group = loop.stream->group;
  }

  Result<SearchedJob> read() {
    read_nodes();
    add_part(LoopPart::Generate, loop_.generate_role);
    if (!loop_.reward_role.empty()) add_part(LoopPart::Reward, loop_.reward_role);
    if (!loop_.inference_role.empty()) add_part(LoopPart::Inference, loop_.inference_role);
    add_part(LoopPart::Train, loop_.train_role);
    for (const RoleSpec& role : job_.spec.roles) {
      const auto is_it = [&](const SearchedRole& known) { return known.name == role.name; };
      if (role.bundle.devices > 0 && std::none_of(out_.roles.begin(), out_.roles.end(), is_it))
        fail("role " + role.name +
             " has devices and no part in the loop, each is needed; give it a part, or no devices");
    }
    read_micro_batches();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(out_);
  }

 private:
  void fail(std::string message) {
    errors_.push_back(error_at(scenario_, &job_, std::move(message)));
  }

  void read_nodes() {
    std::int64_t devices = 0;
    for (const NodeGroup& group : scenario_.groups)
      for (std::int32_t i = 0; i < group.count; ++i) {
        out_.nodes.push_back({group.devices,
                              static_cast<std::int32_t>(devices),
                              scenarios::speed_of(scenario_.device_models, group.device_model),
                              group.device_model});
        devices += group.devices;
      }
    const std::int32_t most = out_.limits.devices;
    if (most > 0 && most < devices) keep_first(most);
    if (devices == 0) fail("the cluster has no devices, some are needed; write gpus_per_node: 8");
    out_.devices =
        static_cast<std::int32_t>(most > 0 ? std::min<std::int64_t>(most, devices) : devices);
  }

  // What lies beyond is not there for the search.
  void keep_first(std::int32_t devices) {
    std::erase_if(out_.nodes,
                  [&](const SearchedNode& node) { return node.first_device >= devices; });
    SearchedNode& last = out_.nodes.back();
    last.devices = std::min(last.devices, devices - last.first_device);
  }

  void add_part(LoopPart part, const std::string& name) {
    const auto is_it = [&](const auto& known) { return known.name == name; };
    const auto known = std::find_if(out_.roles.begin(), out_.roles.end(), is_it);
    if (known != out_.roles.end()) {
      out_.parts.push_back({part, static_cast<std::int32_t>(known - out_.roles.begin())});
      return;
    }
    const auto& roles = job_.spec.roles;
    const auto spec = std::find_if(roles.begin(), roles.end(), is_it);
    if (spec == roles.end()) return fail("part " + std::string(to_string(part)) + " has no role");
    out_.parts.push_back({part, static_cast<std::int32_t>(out_.roles.size())});
    out_.roles.push_back(role_of(*spec));
  }

  SearchedRole role_of(const RoleSpec& spec) {
    SearchedRole role;
    role.name = spec.name;
    role.width = spec.bundle.devices;
    role.reference = spec.min_replicas;
    role.max_replicas = std::max(1, out_.devices);
    role.device_model = spec.bundle.device_model;
    for (const scenarios::SearchedReplicas& bounds : out_.limits.replicas) {
      if (bounds.role != spec.name) continue;
      role.min_replicas = bounds.min;
      role.max_replicas = bounds.max;
    }
    if (role.width == 0) role.min_replicas = role.max_replicas = spec.min_replicas;
    if (!spec.bundle.share.is_whole())
      fail("role " + spec.name +
           " has a part of a device, whole ones are needed; write gpus: 1, or 0");
    return role;
  }

  void read_micro_batches() {
    const std::int32_t groups = loop_.sequences / out_.limits.group;
    std::vector<std::int32_t>& counts = out_.limits.micro_batches;
    if (counts.empty())
      for (std::int32_t count = 1; count <= std::min(16, groups); count *= 2)
        counts.push_back(count);
    for (const std::int32_t count : counts)
      if (count > groups)
        fail("search.micro_batches has " + std::to_string(count) + ", at most the " +
             std::to_string(groups) +
             " groups of a turn are needed; write fewer, or a smaller group");
  }

  const scenarios::Scenario& scenario_;
  const ScenarioJob& job_;
  const LoopSpec& loop_;
  SearchedJob out_;
  Errors errors_;
};

}  // namespace

bool SearchedJob::are_apart(std::int32_t role, std::int32_t other) const {
  const auto names = [&](const std::vector<std::string>& list, std::int32_t of) {
    return std::find(list.begin(), list.end(), roles[static_cast<std::size_t>(of)].name) !=
           list.end();
  };
  return std::any_of(limits.apart.begin(), limits.apart.end(), [&](const auto& list) {
    return names(list, role) && names(list, other);
  });
}

Result<SearchedJob> searched_job(const scenarios::Scenario& scenario, std::string_view name) {
  const Result<const ScenarioJob*> job = chosen_job(scenario, name);
  if (!job) return job.errors();
  const LoopSpec* loop = loop_of(**job);
  if (loop == nullptr) return error_at(scenario, *job, kNoTimes);
  return JobReader(scenario, **job, *loop).read();
}

}  // namespace orrery::sim
