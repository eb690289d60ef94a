#include <algorithm>
#include <utility>

#include "scenarios/language/readers.hpp"
#include "scenarios/language/spec/presets.hpp"

namespace orrery::scenarios {
namespace {

constexpr double kAnyLow = -1e15;

MapReader sub(const MapReader& reader,
              std::string_view key,
              const YamlNode& node,
              std::string_view section_name) {
  return {reader.reading(), node, section(section_name), reader.subject_of(key)};
}

/// The law's parameters; those that the law does not have are reported.
class LawReader {
 public:
  LawReader(const MapReader& reader, std::initializer_list<std::string_view> needed)
      : reader_(reader) {
    for (std::string_view key : section("workload.generator.law").keys) {
      const bool known = std::find(needed.begin(), needed.end(), key) != needed.end();
      if (known && !reader.has(key))
        reader.missing(key,
                       std::string(key) + (key == "sigma" || key == "shape" ? ": 1.5" : ": 20min"));
      else if (!known && reader.has(key))
        reader.fail(key, "is no parameter of this law; remove it");
    }
  }

  Duration time(std::string_view key) const {
    Duration value;
    reader_.read_duration(key, value);
    return value;
  }

  double number(std::string_view key) const {
    double value = 1;
    reader_.read_number(key, value, kAnyLow, kAnyNumber);
    return value;
  }

 private:
  const MapReader& reader_;
};

std::optional<DurationShape> read_shape(const MapReader& reader, std::string_view law) {
  const YamlNode& node = *reader.find(law);
  if (law == "fixed") {
    FixedDuration fixed;
    reader.read_duration(law, fixed.value);
    return fixed;
  }
  const MapReader parameters = sub(reader, law, node, "workload.generator.law");
  if (!node.is_map()) return std::nullopt;
  if (law == "exponential") {
    const LawReader read(parameters, {"mean"});
    return ExponentialDuration{read.time("mean")};
  }
  if (law == "lognormal") {
    const LawReader read(parameters, {"median", "sigma"});
    return LognormalDuration{read.time("median"), read.number("sigma")};
  }
  if (law == "weibull") {
    const LawReader read(parameters, {"shape", "scale"});
    return WeibullDuration{read.number("shape"), read.time("scale")};
  }
  const LawReader read(parameters, {"shape", "low", "high"});
  return BoundedParetoDuration{read.number("shape"), read.time("low"), read.time("high")};
}

/// One distribution without a mixture; nothing where it names no law.
std::optional<DurationShape> read_simple(const MapReader& reader) {
  std::string_view law;
  for (std::string_view key : {"fixed", "exponential", "lognormal", "weibull", "pareto"}) {
    if (!reader.has(key)) continue;
    if (!law.empty())
      reader.fail(key, "stands beside '" + std::string(law) + "', one law is needed; remove one");
    law = key;
  }
  if (!law.empty()) return read_shape(reader, law);
  reader.reading().fail(reader.origin(),
                        reader.subject(),
                        "names no law, one of fixed, exponential, lognormal, weibull, pareto is "
                        "needed; write for example {lognormal: {median: 20min, sigma: 1.8}}");
  return std::nullopt;
}

void read_distribution(const MapReader& parent,
                       std::string_view key,
                       DurationDistribution& distribution) {
  const YamlNode* node = parent.find(key);
  if (node == nullptr) return;
  const MapReader reader = sub(parent, key, *node, "workload.generator.duration");
  if (!node->is_map()) return;
  distribution = {};
  if (reader.has("mixture")) {
    for (const YamlNode& item : reader.items("mixture")) {
      const MapReader part(reader.reading(),
                           item,
                           section("workload.generator.duration"),
                           reader.subject_of("mixture"));
      double weight = 1;
      part.read_number("weight", weight, kAnyLow, kAnyNumber);
      if (const auto shape = read_simple(part)) distribution.parts.push_back({weight, *shape});
    }
  } else if (const auto shape = read_simple(reader)) {
    distribution.parts.push_back({1.0, *shape});
  }
  reader.read_duration("shortest", distribution.shortest);
  reader.read_duration("longest", distribution.longest);
}

void read_arrivals(const MapReader& generator, ArrivalSpec& arrivals) {
  const YamlNode* node = generator.find("arrivals");
  if (node == nullptr) return;
  const MapReader reader = sub(generator, "arrivals", *node, "workload.generator.arrivals");
  if (reader.has("jobs_per_hour")) arrivals.load = 0;
  if (reader.has("load")) arrivals.jobs_per_hour = 0;
  reader.read_number("jobs_per_hour", arrivals.jobs_per_hour, kAnyLow, kAnyNumber);
  reader.read_number("load", arrivals.load, kAnyLow, kAnyNumber);
  reader.read_integer("cluster_gpus", arrivals.cluster_gpus, 1, INT32_MAX);
  reader.read_number("amplitude", arrivals.amplitude, kAnyLow, kAnyNumber);
  reader.read_duration("period", arrivals.period);
  reader.read_duration("peak_at", arrivals.peak_at);
}

void read_mix(const MapReader& generator, std::vector<GpuClass>& mix) {
  if (!generator.has("gpu_mix")) return;
  mix.clear();
  for (const YamlNode& item : generator.items("gpu_mix")) {
    const MapReader reader(generator.reading(),
                           item,
                           section("workload.generator.gpu_mix"),
                           generator.subject_of("gpu_mix[" + std::to_string(mix.size()) + "]"));
    GpuClass gpu_class;
    reader.read_integer("gpus", gpu_class.gpus, 1, INT32_MAX);
    gpu_class.name = std::to_string(gpu_class.gpus) + (gpu_class.gpus == 1 ? " GPU" : " GPUs");
    reader.read_text("name", gpu_class.name);
    reader.read_number("weight", gpu_class.weight, kAnyLow, kAnyNumber);
    DurationDistribution duration;
    read_distribution(reader, "duration", duration);
    if (reader.has("duration")) gpu_class.duration = std::move(duration);
    mix.push_back(std::move(gpu_class));
  }
}

void read_estimate_error(const MapReader& generator, EstimateError& estimate) {
  const YamlNode* node = generator.find("estimate");
  if (node == nullptr) return;
  if (node->is_scalar() && node->scalar == "exact") {
    estimate = ExactEstimate{};
    return;
  }
  const MapReader reader = sub(generator, "estimate", *node, "workload.generator.estimate");
  if (const YamlNode* uniform = reader.find("uniform")) {
    const MapReader law = sub(reader, "uniform", *uniform, "workload.generator.law");
    const LawReader read(law, {"low", "high"});
    estimate = UniformEstimate{read.number("low"), read.number("high")};
  } else if (const YamlNode* lognormal = reader.find("lognormal")) {
    const MapReader law = sub(reader, "lognormal", *lognormal, "workload.generator.law");
    const LawReader read(law, {"median", "sigma"});
    estimate = LognormalEstimate{read.number("median"), read.number("sigma")};
  } else if (node->is_map()) {
    generator.fail("estimate",
                   "names no law, exact, uniform or lognormal is needed; write for example "
                   "{uniform: {low: 0.5, high: 3}}");
  }
}

void read_traffic(const MapReader& generator, GeneratorWorkload& workload) {
  if (!generator.has("step") && !generator.has("checkpoint")) return;
  TrafficSpec traffic;
  read_step(generator, traffic.step);
  read_checkpoint(generator, traffic.checkpoint);
  // Elastic jobs have replicas of one device, the others whole nodes or parts of one.
  for (const GpuClass& gpu_class : workload.spec.gpu_mix)
    check_device_groups(generator, traffic.step, gpu_class.gpus, 1, 1);
  if (workload.spec.preemptible_share > 0 && workload.spec.elastic_share > 0)
    check_device_groups(generator, traffic.step, 1, 1, 2);
  workload.traffic = std::make_shared<const TrafficSpec>(std::move(traffic));
}

GeneratorSpec preset_of(const MapReader& generator) {
  std::string name;
  generator.read_text("preset", name);
  if (name.empty()) return {};
  if (auto preset = preset_by_name(name)) return *std::move(preset);
  std::string names;
  for (std::string_view known : preset_names())
    names += (names.empty() ? "" : ", ") + std::string(known);
  generator.fail("preset", "is '" + name + "', one of " + names + " is needed; choose one");
  return {};
}

/// The deepest part of the document that `path`, below `node`, leads to.
Origin locate(const YamlNode& node, std::string_view path) {
  const YamlNode* at = &node;
  Origin origin = node.origin;
  while (!path.empty()) {
    const std::size_t end = path.find_first_of(".[");
    const std::string_view key = path.substr(0, end);
    if (at->find(key) == nullptr) return origin;
    origin = at->origin_of(key);
    at = at->find(key);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    if (!path.empty() && path.front() == '[') {
      const std::size_t close = path.find(']');
      const auto index = parse_integer(path.substr(1, close - 1));
      if (!index || static_cast<std::size_t>(*index) >= at->items.size()) return origin;
      at = &at->items[static_cast<std::size_t>(*index)];
      origin = at->origin;
      path.remove_prefix(close + 1);
    }
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  return origin;
}

}  // namespace

void read_generator(Reading& reading,
                    const YamlNode& node,
                    const Scenario& scenario,
                    GeneratorWorkload& workload) {
  const std::string subject = "workload.generator";
  const MapReader reader(reading, node, section("workload.generator"), subject);
  GeneratorSpec& spec = workload.spec;
  spec = preset_of(reader);
  spec.arrivals.cluster_gpus = 0;
  for (const NodeGroup& group : scenario.groups)
    spec.arrivals.cluster_gpus += std::int64_t{group.count} * group.devices;
  reader.read_integer("jobs", spec.jobs, 1, 100'000'000);
  reader.read_integer("seed", spec.seed, 0, INT64_MAX);
  workload.own_seed = reader.has("seed");
  if (!workload.own_seed) spec.seed = scenario.seed;
  read_arrivals(reader, spec.arrivals);
  read_distribution(reader, "duration", spec.duration);
  read_mix(reader, spec.gpu_mix);
  reader.read_number("preemptible_share", spec.preemptible_share, kAnyLow, kAnyNumber);
  reader.read_number("elastic_share", spec.elastic_share, kAnyLow, kAnyNumber);
  reader.read_integer("elastic_shrink", spec.elastic_shrink, 1, INT32_MAX);
  reader.read_integer("elastic_grow", spec.elastic_grow, 1, INT32_MAX);
  read_estimate_error(reader, spec.estimate);
  reader.read_integer("users", spec.users, 1, INT32_MAX);
  reader.read_number("user_skew", spec.user_skew, kAnyLow, kAnyNumber);
  read_traffic(reader, workload);
  if (reading.failed()) return;
  for (const Error& error : check(spec, subject)) {
    const std::string_view path = std::string_view(error.subject).substr(subject.size() + 1);
    reading.fail(locate(node, path), error.subject, error.message);
  }
}

}  // namespace orrery::scenarios
