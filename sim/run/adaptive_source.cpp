#include "sim/run/adaptive_source.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "sim/run/job_parts.hpp"
#include "sim/run/workload_file.hpp"

namespace orrery::sim {
namespace {

using scenarios::ShockwaveWorkload;

class AdaptiveSource final : public JobSource {
 public:
  AdaptiveSource(const ShockwaveWorkload& workload, const AdaptiveWorkload& jobs)
      : workload_(workload), jobs_(jobs) {}

  std::optional<ModelJob> next() override {
    if (at_ == jobs_.jobs.size()) return std::nullopt;
    const AdaptiveJob& job = jobs_.jobs[at_++];
    const AdaptiveTraining& training = job.submission.training;
    ModelJob out;
    std::string label;
    auto spec = training_job(job_name("line-" + std::to_string(job.submission.line), label));
    spec->preemptible = workload_.preemptible;
    spec->profile = job.profile;
    spec->batch_size = training.batch;
    RoleSpec role;
    role.name = "worker";
    role.bundle.devices = 1;
    role.min_replicas = role.max_replicas = training.gpus;
    spec->roles = roles_.of(std::move(role));
    set_estimate(*spec,
                 workload_.estimates,
                 scenarios::run_time(job.work, training.gpus),
                 job.submission.duration);
    out.work = job.work;
    out.spec = std::move(spec);
    out.submit = job.submission.submit;
    return out;
  }

 private:
  const ShockwaveWorkload& workload_;
  const AdaptiveWorkload& jobs_;
  SharedRoles roles_;
  std::size_t at_ = 0;
};

}  // namespace

Result<AdaptiveWorkload> load_adaptive(const ShockwaveWorkload& workload,
                                       WorkloadAccount& account) {
  const Result<std::string> text = read_workload_file(workload.file, "workload.file");
  const Result<std::string> table =
      read_workload_file(workload.throughputs, "workload.throughputs");
  Errors errors;
  if (!text) errors = text.errors();
  if (!table) errors.insert(errors.end(), table.errors().begin(), table.errors().end());
  if (!errors.empty()) return errors;
  auto submissions = parse_shockwave_trace(*text, workload.file);
  const auto speeds = parse_gavel_throughputs(*table, workload.throughputs);
  if (!submissions) errors = submissions.errors();
  if (!speeds) errors.insert(errors.end(), speeds.errors().begin(), speeds.errors().end());
  if (!errors.empty()) return errors;
  account.rows_read = submissions->size();
  keep_first(*submissions, workload.limit, account);
  return time_epochs(std::move(*submissions), workload.file, *speeds, workload.speeds_of);
}

std::unique_ptr<JobSource> play_adaptive(const ShockwaveWorkload& workload,
                                         const AdaptiveWorkload& jobs) {
  return std::make_unique<AdaptiveSource>(workload, jobs);
}

}  // namespace orrery::sim
