#include <algorithm>
#include <memory>
#include <utility>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr double kAnyFlops = 1e30;
constexpr double kDefaultEfficiency = 0.4;

void read_table(const MapReader& scaling, WorkSpec& work) {
  const YamlNode* node = scaling.find("table");
  if (!node->is_map() || node->entries.empty()) {
    scaling.fail(
        "table",
        found_instead(
            *node, "a map from replicas to throughput", "write for example {1: 10, 2: 18}"));
    work.scaling = ScalingKind::Linear;
    return;
  }
  work.scaling = ScalingKind::Table;
  for (const YamlEntry& entry : node->entries) {
    const std::int64_t replicas = parse_integer(entry.key).value_or(0);
    const double throughput =
        entry.value.is_scalar() ? parse_number(entry.value.scalar).value_or(0) : 0;
    const bool sound =
        replicas >= 1 && replicas <= INT32_MAX && throughput > 0 && throughput <= kAnyNumber;
    const bool rising = sound && (work.table.empty() || replicas > work.table.back().replicas);
    if (rising)
      work.table.push_back({static_cast<std::int32_t>(replicas), throughput});
    else
      scaling.reading().fail(entry.key_origin,
                             scaling.subject_of("table") + "." + entry.key,
                             "is no point of rising replicas (from 1) with a throughput above 0; "
                             "write for example {1: 10, 2: 18}");
  }
  if (work.table.empty()) work.scaling = ScalingKind::Linear;
}

void read_scaling(const MapReader& reader, WorkSpec& work) {
  const YamlNode* node = reader.find("scaling");
  if (node == nullptr) return;
  if (node->is_scalar() && node->scalar == "linear") return;
  if (!node->is_map()) {
    reader.fail(
        "scaling",
        found_instead(
            *node, "linear, {amdahl: {serial: 0.1}} or {table: {1: 10, 2: 18}}", "choose one"));
    return;
  }
  const MapReader scaling(
      reader.reading(), *node, section("jobs.work.scaling"), reader.subject_of("scaling"));
  if (scaling.has("amdahl") && scaling.has("table"))
    scaling.fail("table", "stands beside 'amdahl', one law is needed; remove one");
  if (const YamlNode* amdahl = scaling.find("amdahl")) {
    work.scaling = ScalingKind::Amdahl;
    const MapReader law(reader.reading(),
                        *amdahl,
                        section("jobs.work.scaling.amdahl"),
                        scaling.subject_of("amdahl"));
    law.read_number("serial", work.serial, 0, 1);
    if (!law.has("serial")) law.missing("serial", "amdahl: {serial: 0.1}");
  } else if (scaling.has("table")) {
    read_table(scaling, work);
  }
}

/// Work given as the time that it takes with the fewest replicas.
void set_duration(const MapReader& reader,
                  std::string_view key,
                  const JobSpec& spec,
                  WorkSpec& work) {
  Duration duration;
  reader.read_duration(key, duration);
  if (duration.ns == 0) {
    const YamlNode* node = reader.find(key);
    if (node->is_scalar() && parse_duration(node->scalar))
      reader.fail(key, "is 0, a time above 0 is needed; write for example 300s");
    return;
  }
  work.units = duration.in_seconds();
  work.follows_model = true;
  work.base_rate = 1;
  work.base_replicas =
      spec.roles.empty() ? 1 : std::max(1, spec.roles[elastic_role(spec).index()].min_replicas);
}

/// The model of the devices that the role runs on, where the cluster leaves no choice.
const DeviceModel* model_of(const MapReader& reader,
                            const RoleSpec& role,
                            const Scenario& scenario) {
  std::string name = role.bundle.device_model;
  for (const NodeGroup& group : scenario.groups) {
    if (!role.bundle.device_model.empty() || group.devices == 0) continue;
    if (!name.empty() && name != group.device_model) {
      reader.fail("flops_per_unit",
                  "needs to know the devices of role " + role.name + ", but the cluster has " +
                      name + " and " + group.device_model + "; give the role a device_model");
      return nullptr;
    }
    name = group.device_model;
  }
  const DeviceModel* model = find_device_model(scenario.device_models, name);
  if (model != nullptr && model->flops > 0) return model;
  reader.fail("flops_per_unit",
              "needs the speed of device model '" + name +
                  "', which is not known; describe it under cluster.devices, or use one of " +
                  known_device_models());
  return nullptr;
}

/// Throughput of one replica from its devices' speed.
void set_flops(const MapReader& reader,
               const JobSpec& spec,
               const Scenario& scenario,
               WorkSpec& work) {
  if (reader.has("throughput"))
    reader.fail("throughput", "stands beside 'flops_per_unit', which says it too; keep one");
  double flops = 0;
  double efficiency = kDefaultEfficiency;
  reader.read_number("flops_per_unit", flops, 1e-9, kAnyFlops);
  reader.read_number("efficiency", efficiency, 1e-6, 1);
  if (flops <= 0 || spec.roles.empty()) return;
  const RoleSpec& role = spec.roles[elastic_role(spec).index()];
  if (role.bundle.devices == 0) {
    reader.fail(
        "flops_per_unit",
        "is of devices, but role " + role.name + " has none; give it devices, or a throughput");
    return;
  }
  if (const DeviceModel* model = model_of(reader, role, scenario))
    work.base_rate = role.bundle.devices * (role.bundle.share.thousandths / 1000.0) * model->flops *
                     efficiency / flops;
}

void set_units(const MapReader& reader,
               const JobSpec& spec,
               const Scenario& scenario,
               WorkSpec& work) {
  reader.read_number("units", work.units, 0, kAnyNumber);
  if (!reader.has("units")) reader.missing("units", "{units: 90000, throughput: 120}");
  if (reader.has("units") && work.units <= 0)
    reader.fail("units", "is not above 0, some work is needed; correct it");
  work.follows_model = !reader.has("flops_per_unit");
  if (work.scaling == ScalingKind::Table) {
    work.base_replicas = work.table.front().replicas;
    work.base_rate = work.table.front().throughput;
    for (std::string_view key : {"throughput", "flops_per_unit"})
      if (reader.has(key)) reader.fail(key, "stands beside a table, which says it; remove it");
    return;
  }
  if (reader.has("flops_per_unit")) return set_flops(reader, spec, scenario, work);
  if (reader.has("efficiency"))
    reader.fail("efficiency",
                "stands without 'flops_per_unit', whose it is; add that or remove it");
  reader.read_number("throughput", work.base_rate, 1e-9, kAnyNumber);
  if (!reader.has("throughput")) reader.missing("throughput", "{units: 90000, throughput: 120}");
}

/// A unit mistaken makes ages, which time in nanoseconds does not hold.
void check_length(const MapReader& reader, const JobSpec& spec, const WorkSpec& work) {
  const std::int32_t replicas =
      spec.roles.empty() ? 1 : std::max(1, spec.roles[elastic_role(spec).index()].min_replicas);
  if (work.units > 0 && rate_of(work, replicas) > 0 && run_time(work, replicas).is_forever())
    reader.fail("units",
                "take more than 292 years with the fewest replicas, less is needed; correct the "
                "units or the throughput");
}

/// Work in turns of a loop, which says how long one takes.
void set_loop(const MapReader& reader, const JobSpec& spec, WorkSpec& work, LoopSpec& loop) {
  read_loop(reader, spec, loop);
  for (std::string_view key :
       {"duration", "throughput", "flops_per_unit", "efficiency", "scaling", "step"})
    if (reader.has(key))
      reader.fail(key, "stands beside 'loop', which says what a turn does and takes; keep one");
  reader.read_number("units", work.units, 0, kAnyNumber);
  if (!reader.has("units")) reader.missing("units", "{units: 100, loop: ...}: the turns");
  if (reader.has("units") && work.units <= 0)
    reader.fail("units", "is not above 0, some turns are needed; correct it");
  if (spec.roles.empty()) return;
  work.follows_model = true;
  work.base_replicas = std::max(1, spec.roles[elastic_role(spec).index()].min_replicas);
  const double turn_s = rough_turn_s(loop, spec);
  if (turn_s > 0) work.base_rate = 1 / turn_s;
}

void read_traffic(const MapReader& reader, const JobSpec& spec, WorkSpec& work) {
  TrafficSpec traffic;
  if (reader.has("loop"))
    set_loop(reader, spec, work, traffic.loop);
  else
    read_step(reader, traffic.step);
  read_checkpoint(reader, traffic.checkpoint);
  if (!spec.roles.empty() && traffic.step.units > 0) {
    const RoleSpec& role = spec.roles[elastic_role(spec).index()];
    check_device_groups(reader,
                        traffic.step,
                        std::max(1, role.bundle.devices),
                        role.min_replicas,
                        role.max_replicas);
  }
  if (reader.has("step") || reader.has("loop") || reader.has("checkpoint"))
    work.traffic = std::make_shared<const TrafficSpec>(std::move(traffic));
}

}  // namespace

void read_work(const MapReader& job,
               const JobSpec& spec,
               const Scenario& scenario,
               WorkSpec& work) {
  const YamlNode* node = job.find("work");
  if (node == nullptr) return;
  if (node->is_scalar()) {
    set_duration(job, "work", spec, work);
    return;
  }
  const MapReader reader(job.reading(), *node, section("jobs.work"), job.subject_of("work"));
  if (!node->is_map()) return;
  read_scaling(reader, work);
  read_traffic(reader, spec, work);
  if (reader.has("loop")) return;
  if (!reader.has("duration")) {
    set_units(reader, spec, scenario, work);
    return check_length(reader, spec, work);
  }
  for (std::string_view key : {"units", "throughput", "flops_per_unit", "efficiency"})
    if (reader.has(key))
      reader.fail(key, "stands beside 'duration', which says how long the work takes; keep one");
  set_duration(reader, "duration", spec, work);
}

}  // namespace orrery::scenarios
