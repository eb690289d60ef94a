#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr double kAnyNumber = 1e15;

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
  work.base_rate = 1;
  work.base_replicas =
      spec.roles.empty() ? 1 : std::max(1, spec.roles[elastic_role(spec).index()].min_replicas);
}

void set_units(const MapReader& reader, WorkSpec& work) {
  reader.read_number("units", work.units, 0, kAnyNumber);
  if (!reader.has("units")) reader.missing("units", "{units: 90000, throughput: 120}");
  if (reader.has("units") && work.units <= 0)
    reader.fail("units", "is not above 0, some work is needed; correct it");
  if (work.scaling == ScalingKind::Table) {
    work.base_replicas = work.table.front().replicas;
    work.base_rate = work.table.front().throughput;
    if (reader.has("throughput"))
      reader.fail("throughput", "stands beside a table, which says it; remove it");
    return;
  }
  reader.read_number("throughput", work.base_rate, 1e-9, kAnyNumber);
  if (!reader.has("throughput")) reader.missing("throughput", "{units: 90000, throughput: 120}");
}

}  // namespace

void read_work(const MapReader& job, const JobSpec& spec, WorkSpec& work) {
  const YamlNode* node = job.find("work");
  if (node == nullptr) return;
  if (node->is_scalar()) {
    set_duration(job, "work", spec, work);
    return;
  }
  const MapReader reader(job.reading(), *node, section("jobs.work"), job.subject_of("work"));
  read_scaling(reader, work);
  if (!reader.has("duration")) {
    if (node->is_map()) set_units(reader, work);
    return;
  }
  for (std::string_view key : {"units", "throughput"})
    if (reader.has(key))
      reader.fail(key, "stands beside 'duration', which says how long the work takes; keep one");
  set_duration(reader, "duration", spec, work);
}

}  // namespace orrery::scenarios
