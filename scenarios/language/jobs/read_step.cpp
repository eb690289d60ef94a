// What a step of training sends, and what is saved: jobs.work.step and jobs.work.checkpoint.
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr double kAnyStepNumber = 1e15;
constexpr std::int64_t kDevicesMax = 1'048'576;

}  // namespace

void read_step(const MapReader& work, StepSpec& step) {
  const YamlNode* node = work.find("step");
  if (node == nullptr) return;
  const MapReader reader(work.reading(), *node, section("jobs.work.step"), work.subject_of("step"));
  if (!node->is_map()) return;
  if (!reader.has("units")) reader.missing("units", "step: {units: 1, gradient: 2GB}");
  reader.read_number("units", step.units, 1e-9, kAnyStepNumber);
  reader.read_size("gradient", step.gradient);
  reader.read_enum("all_reduce", step.all_reduce);
  reader.read_number("overlap", step.overlap, 0, 1);
  reader.read_integer("tensor_parallel", step.tensor_parallel, 1, kDevicesMax);
  reader.read_size("tensor", step.tensor);
  reader.read_integer("pipeline_parallel", step.pipeline_parallel, 1, kDevicesMax);
  reader.read_size("activation", step.activation);
  reader.read_integer("microbatches", step.microbatches, 1, kDevicesMax);
  if (step.tensor_parallel == 1 && reader.has("tensor"))
    reader.fail("tensor", "is never sent where tensor_parallel is 1; raise that or remove it");
  if (step.pipeline_parallel > 1) return;
  for (std::string_view key : {"activation", "microbatches"})
    if (reader.has(key))
      reader.fail(key, "has no meaning where pipeline_parallel is 1; raise that or remove it");
}

void check_device_groups(const MapReader& work,
                         const StepSpec& step,
                         std::int64_t devices,
                         std::int64_t low,
                         std::int64_t high) {
  const std::int64_t group = std::int64_t{step.tensor_parallel} * step.pipeline_parallel;
  const bool fits = low == high ? devices * low % group == 0 : devices % group == 0;
  if (fits) return;
  const std::string written =
      "has groups of " + std::to_string(group) + " devices (tensor_parallel x pipeline_parallel), ";
  const std::string have =
      low == high ? "which do not divide the " + std::to_string(devices * low) + " devices of a job"
                  : "which do not divide the " + std::to_string(devices) +
                        " devices of a replica, of which there may be any number";
  work.fail("step", written + have + "; change one of them");
}

void read_checkpoint(const MapReader& work, CheckpointSpec& checkpoint) {
  const YamlNode* node = work.find("checkpoint");
  if (node == nullptr) return;
  const MapReader reader(
      work.reading(), *node, section("jobs.work.checkpoint"), work.subject_of("checkpoint"));
  if (!node->is_map()) return;
  if (!reader.has("size")) reader.missing("size", "checkpoint: {size: 80GB, interval: 10min}");
  reader.read_size("size", checkpoint.size);
  reader.read_duration("interval", checkpoint.interval);
  reader.read_bool("blocking", checkpoint.blocking);
}

}  // namespace orrery::scenarios
