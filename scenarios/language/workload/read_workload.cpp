#include <array>
#include <utility>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// Keys that mean something for public traces alone.
constexpr std::array<std::string_view, 8> kTraceKeys = {"fill",
                                                        "duplicates",
                                                        "zero_gpus",
                                                        "censored",
                                                        "preemptible",
                                                        "host_resources",
                                                        "throughputs",
                                                        "speeds_of"};

void refuse(const MapReader& reader,
            std::initializer_list<std::string_view> keys,
            const std::string& format) {
  for (std::string_view key : keys)
    if (reader.has(key)) reader.fail(key, "has no meaning for " + format + "; remove it");
}

void refuse_trace_keys(const MapReader& reader, const std::string& format) {
  for (std::string_view key : kTraceKeys) refuse(reader, {key}, format);
}

/// A path as it can be opened: what the file says is relative to `directory`.
std::string path_from(const YamlNode& node, const std::string& directory) {
  const bool from_file = node.origin.source == 0;
  return from_file && node.scalar.front() != '/' ? directory + node.scalar : node.scalar;
}

/// A folder of profiles for each device model of the cluster.
void read_profiles_by_model(const MapReader& reader,
                            const std::string& directory,
                            const Scenario& scenario,
                            PolluxWorkload& pollux) {
  constexpr std::string_view kKey = "profiles_by_model";
  const YamlNode* node = reader.find(kKey);
  if (node == nullptr) return;
  if (reader.has("profiles"))
    reader.fail("profiles", "stands beside 'profiles_by_model', which says it for each; keep one");
  if (!node->is_map() || node->entries.empty())
    return reader.fail(kKey,
                       found_instead(*node,
                                     "a map from device models to folders",
                                     "write for example {t4: profiles/t4, a100: profiles/a100}"));
  for (const YamlEntry& entry : node->entries) {
    const std::string& folder = entry.value.scalar;
    if (!entry.value.is_scalar() || folder.empty())
      reader.reading().fail(entry.value.origin,
                            reader.subject_of(kKey) + "." + entry.key,
                            found_instead(entry.value, "a folder", "write the path of one"));
    else if (!pollux.profiles_by_model.emplace(entry.key, path_from(entry.value, directory)).second)
      reader.reading().fail(entry.key_origin,
                            reader.subject_of(kKey) + "." + entry.key,
                            "stands twice, each device model has one folder; remove one");
  }
  for (const NodeGroup& group : scenario.groups)
    if (group.devices > 0 && !pollux.profiles_by_model.contains(group.device_model))
      reader.fail(kKey,
                  "has no profiles of device model '" + group.device_model +
                      "', of which the cluster has nodes; add its folder");
}

PolluxWorkload read_pollux(const MapReader& reader,
                           const std::string& directory,
                           const Scenario& scenario) {
  PolluxWorkload pollux;
  read_path(reader, "file", "file: jobs.csv", directory, pollux.file);
  read_profiles_by_model(reader, directory, scenario, pollux);
  if (!reader.has("profiles_by_model"))
    read_path(reader, "profiles", "profiles: profiles", directory, pollux.profiles);
  reader.read_integer("limit", pollux.limit, 0, INT64_MAX);
  refuse_trace_keys(reader, "format pollux");
  refuse(reader, {"estimates"}, "format pollux");
  return pollux;
}

ShockwaveWorkload read_shockwave(const MapReader& reader, const std::string& directory) {
  ShockwaveWorkload shockwave;
  read_path(reader, "file", "file: jobs.trace", directory, shockwave.file);
  read_path(reader, "throughputs", "throughputs: speeds.json", directory, shockwave.throughputs);
  reader.read_text("speeds_of", shockwave.speeds_of);
  reader.read_integer("limit", shockwave.limit, 0, INT64_MAX);
  reader.read_enum("estimates", shockwave.estimates);
  reader.read_bool("preemptible", shockwave.preemptible);
  refuse(reader,
         {"profiles",
          "profiles_by_model",
          "fill",
          "duplicates",
          "zero_gpus",
          "censored",
          "host_resources"},
         "format shockwave");
  return shockwave;
}

/// Jobs that fill the cluster, whatever their times.
void read_fill(const MapReader& reader, TraceWorkload& trace) {
  if (!reader.has("fill")) return;
  constexpr double kFillMost = 100;
  reader.read_number("fill", trace.fill, 0, kFillMost);
  if (trace.fill == 0)
    reader.fail("fill",
                "is 0, more is needed: how many times the cluster's devices jobs ask for in all; "
                "write for example fill: 1.3");
  refuse(reader, {"limit", "censored", "estimates"}, "jobs that fill the cluster and never end");
  trace.censored = OddRows::Keep;
  trace.estimates = TraceEstimates::None;
}

TraceWorkload read_trace(const MapReader& reader,
                         const TraceFormat& format,
                         const std::string& directory) {
  TraceWorkload trace;
  trace.format = &format;
  trace.zero_gpus = format.zero_gpus;
  read_path(reader, "file", "file: jobs.csv", directory, trace.file);
  reader.read_integer("limit", trace.limit, 0, INT64_MAX);
  reader.read_enum("duplicates", trace.duplicates);
  reader.read_enum("zero_gpus", trace.zero_gpus);
  reader.read_enum("censored", trace.censored);
  reader.read_enum("estimates", trace.estimates);
  reader.read_bool("preemptible", trace.preemptible);
  reader.read_bool("host_resources", trace.host_resources);
  if (format.counts_steps) {
    if (reader.has("throughputs"))
      read_path(reader, "throughputs", "throughputs: speeds.json", directory, trace.throughputs);
    reader.read_text("speeds_of", trace.speeds_of);
  } else {
    refuse(reader, {"throughputs", "speeds_of"}, "a trace that counts no steps");
  }
  refuse(reader, {"profiles", "profiles_by_model"}, "a trace");
  read_fill(reader, trace);
  return trace;
}

/// What such jobs do is known by goodput, which ticks measure.
void choose_timing(const MapReader& reader, bool is_said, Timing& timing) {
  if (timing.mode != TimingMode::Simple) return;
  if (!is_said)
    timing.mode = TimingMode::Pollux;
  else
    reader.fail("format",
                "is pollux, whose jobs get on under timing pollux or gavel alone, and timing is "
                "simple; write timing: pollux, or leave timing out");
}

/// Every format, for a message.
std::string format_names() {
  std::string out = "one of pollux, shockwave";
  for (const TraceFormat& format : kTraceFormats) out += ", " + std::string(format.name);
  return out;
}

constexpr double kFlopsMax = 1e30;

BatsimWorkload read_batsim(const MapReader& workload,
                           const YamlNode& node,
                           const std::string& directory) {
  const MapReader reader(workload.reading(), node, section("workload.batsim"), "workload.batsim");
  BatsimWorkload batsim;
  read_path(reader, "file", "file: workload.json", directory, batsim.file);
  if (reader.has("events"))
    read_path(reader, "events", "events: events.txt", directory, batsim.events);
  reader.read_bool("strict", batsim.strict);
  reader.read_number("host_flops", batsim.host_flops, 0, kFlopsMax);
  reader.read_integer("limit", batsim.limit, 0, INT64_MAX);
  return batsim;
}

ElastisimWorkload read_elastisim(const MapReader& workload,
                                 const YamlNode& node,
                                 const std::string& directory) {
  const MapReader reader(
      workload.reading(), node, section("workload.elastisim"), "workload.elastisim");
  ElastisimWorkload elastisim;
  read_path(reader, "file", "file: configuration.json", directory, elastisim.file);
  if (reader.has("root")) read_path(reader, "root", "root: .", directory, elastisim.root);
  reader.read_number("host_flops", elastisim.host_flops, 0, kFlopsMax);
  reader.read_number("gpu_flops", elastisim.gpu_flops, 0, kFlopsMax);
  reader.read_number("burst_buffer", elastisim.burst_buffer, 0, kFlopsMax);
  reader.read_integer("limit", elastisim.limit, 0, INT64_MAX);
  return elastisim;
}

/// Whether the workload is another simulator's; it is read then.
bool read_imported(const MapReader& reader, const std::string& directory, Scenario& scenario) {
  const YamlNode* batsim = reader.find("batsim");
  const YamlNode* elastisim = reader.find("elastisim");
  if (batsim == nullptr && elastisim == nullptr) return false;
  const std::string what = batsim != nullptr ? "a workload of Batsim" : "a workload of ElastiSim";
  refuse(reader, {"format", "file", "profiles", "limit", "estimates", "generator"}, what);
  refuse_trace_keys(reader, what);
  if (batsim != nullptr && elastisim != nullptr)
    reader.fail("elastisim", "stands beside batsim, one of them is needed; remove the other");
  if (batsim != nullptr)
    scenario.workload = read_batsim(reader, *batsim, directory);
  else
    scenario.workload = read_elastisim(reader, *elastisim, directory);
  return true;
}

}  // namespace

void read_path(const MapReader& reader,
               std::string_view key,
               std::string_view example,
               const std::string& directory,
               std::string& to) {
  std::string path;
  reader.read_text(key, path);
  if (path.empty()) return reader.missing(key, example);
  to = path_from(*reader.find(key), directory);
}

void read_workload(const MapReader& top, const std::string& directory, Scenario& scenario) {
  const YamlNode* node = top.find("workload");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("workload"), "workload");
  if (!node->is_map()) return;
  if (read_imported(reader, directory, scenario)) return;
  if (const YamlNode* generator = reader.find("generator")) {
    refuse(reader, {"format", "file", "profiles", "profiles_by_model", "limit"}, "a generator");
    refuse_trace_keys(reader, "a generator");
    GeneratorWorkload workload;
    reader.read_enum("estimates", workload.estimates);
    read_generator(top.reading(), *generator, scenario, workload);
    scenario.workload = std::move(workload);
    return;
  }
  const YamlNode* format = reader.find("format");
  if (format == nullptr) {
    reader.missing("format", "format: philly, or a generator");
  } else if (format->scalar == "pollux") {
    scenario.workload = read_pollux(reader, directory, scenario);
    choose_timing(reader, top.has("timing"), scenario.timing);
  } else if (format->scalar == "shockwave") {
    scenario.workload = read_shockwave(reader, directory);
  } else if (const TraceFormat* known = trace_format_named(format->scalar)) {
    TraceWorkload trace = read_trace(reader, *known, directory);
    if (trace.fill > 0 && scenario.until.is_never()) scenario.until = Instant::zero() + kFillLasts;
    scenario.workload = std::move(trace);
  } else {
    reader.fail("format", found_instead(*format, format_names(), "choose one"));
  }
}

}  // namespace orrery::scenarios
