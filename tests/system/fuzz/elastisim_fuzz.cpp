// The readers of ElastiSim's files and the evaluator of formulas read or refuse any bytes, and
// every job that is read can be planned or is refused in words.
//
// The first byte chooses between a formula and a list of jobs with the application model of them
// all after a line of "====".
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/invariant.hpp"
#include "core/job/spec.hpp"
#include "sim/import/elastisim_jobs.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kCut = "\n====\n";

// Larger workloads are sound, and only take their time.
constexpr std::int32_t kNodesMax = 24;

void read_formula(std::string_view text) {
  const auto value = evaluate_formula(text, {{"x", 3}, {"num_nodes", 4}});
  if (value)
    invariant(std::isfinite(*value), "the value of a formula is finite");
  else
    invariant(!value.errors().front().message.empty(), "a refusal has words");
}

void check_sound(const ModelJob& job) {
  invariant(check_spec(*job.spec).empty(), "the controller accepts what was read");
  invariant(job.work.units > 0 && job.work.base_rate > 0, "there is work, and it is done");
  const auto sizes = static_cast<std::size_t>(job.spec->roles[0].max_replicas -
                                              job.spec->roles[0].min_replicas + 1);
  invariant(job.work.traffic->programs.size() == sizes, "there is a program for each size");
  for (const scenarios::Program& program : job.work.traffic->programs)
    invariant(!program.stages.empty(), "a program has a stage");
}

void read_workload(std::string_view text) {
  const std::size_t cut = std::min(text.find(kCut), text.size());
  const auto jobs = parse_elastisim_jobs(text.substr(0, cut), "jobs.json");
  text.remove_prefix(std::min(cut + kCut.size(), text.size()));
  const auto application = parse_elastisim_application(text, "model.json");
  static_cast<void>(parse_elastisim_configuration(text, "configuration.json"));
  if (!jobs || !application || jobs->jobs.size() > 4) return;
  std::map<std::string, ElastisimApplication> applications;
  for (const ElastisimJob& job : jobs->jobs) {
    if (job.nodes_max > kNodesMax) return;
    applications[job.application] = *application;
  }
  ElastisimPlan::Options options;
  options.node = {.host_flops = 1e9, .gpu_flops = 1e9, .burst_buffer = 1e9};
  const auto plan = ElastisimPlan::make_plan(*jobs, applications, options);
  if (!plan) return;
  invariant(plan->size() == jobs->jobs.size(), "every job is planned");
  for (std::size_t i = 0; i < plan->size(); ++i) check_sound(plan->make(i, 1));
}

}  // namespace
}  // namespace orrery::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::sim;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    read_formula(text);
  else
    read_workload(text);
  return 0;
}
