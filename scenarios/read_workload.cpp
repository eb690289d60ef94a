#include <utility>

#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

void refuse(const MapReader& reader,
            std::initializer_list<std::string_view> keys,
            const std::string& format) {
  for (std::string_view key : keys)
    if (reader.has(key)) reader.fail(key, "has no meaning for " + format + "; remove it");
}

PolluxWorkload read_pollux(const MapReader& reader, const std::string& directory) {
  PolluxWorkload pollux;
  read_path(reader, "file", "file: jobs.csv", directory, pollux.file);
  read_path(reader, "profiles", "profiles: profiles", directory, pollux.profiles);
  reader.read_integer("limit", pollux.limit, 0, INT64_MAX);
  refuse(reader, {"duplicates", "estimates", "preemptible"}, "format pollux");
  return pollux;
}

PhillyWorkload read_philly(const MapReader& reader, const std::string& directory) {
  PhillyWorkload philly;
  reader.read_enum("format", philly.format);
  read_path(reader, "file", "file: jobs.csv", directory, philly.file);
  reader.read_integer("limit", philly.limit, 0, INT64_MAX);
  reader.read_enum("duplicates", philly.duplicates);
  reader.read_enum("estimates", philly.estimates);
  reader.read_bool("preemptible", philly.preemptible);
  refuse(reader, {"profiles"}, "a Philly trace");
  return philly;
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
bool read_interchange(const MapReader& reader, const std::string& directory, Scenario& scenario) {
  const YamlNode* batsim = reader.find("batsim");
  const YamlNode* elastisim = reader.find("elastisim");
  if (batsim == nullptr && elastisim == nullptr) return false;
  refuse(reader,
         {"format",
          "file",
          "profiles",
          "limit",
          "duplicates",
          "estimates",
          "preemptible",
          "generator"},
         batsim != nullptr ? "a workload of Batsim" : "a workload of ElastiSim");
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
  const bool from_file = reader.find(key)->origin.source == 0;
  to = from_file && path.front() != '/' ? directory + path : path;
}

void read_workload(const MapReader& top, const std::string& directory, Scenario& scenario) {
  const YamlNode* node = top.find("workload");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, section("workload"), "workload");
  if (!node->is_map()) return;
  if (read_interchange(reader, directory, scenario)) return;
  if (const YamlNode* generator = reader.find("generator")) {
    refuse(reader,
           {"format", "file", "profiles", "limit", "duplicates", "preemptible"},
           "a generator");
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
    scenario.workload = read_pollux(reader, directory);
  } else if (format->scalar == "philly" || format->scalar == "philly-json") {
    scenario.workload = read_philly(reader, directory);
  } else {
    reader.fail("format",
                found_instead(*format, "one of pollux, philly, philly-json", "choose one"));
  }
}

}  // namespace orrery::scenarios
