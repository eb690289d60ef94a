#include "scenarios/language/yaml/calibration_file.hpp"

#include <fstream>
#include <optional>
#include <utility>

#include "core/base/stream_text.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {
namespace {

/// Every part of the tree stands in this source.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void mark(YamlNode& node, std::uint32_t source) {
  node.origin.source = source;
  for (YamlNode& item : node.items) mark(item, source);
  for (YamlEntry& entry : node.entries) {
    entry.key_origin.source = source;
    mark(entry.value, source);
  }
}

/// What `to` does not say itself, key by key; a list is one value.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void add_missing(YamlNode& to, const YamlNode& from) {
  if (to.is_null()) {
    to.kind = YamlNode::Kind::Map;
    to.origin = from.origin;
  }
  for (const YamlEntry& entry : from.entries) {
    YamlNode* there = to.find(entry.key);
    if (there == nullptr || there->is_null()) {
      std::erase_if(to.entries, [&](const YamlEntry& old) { return old.key == entry.key; });
      to.entries.push_back(entry);
    } else if (there->is_map() && entry.value.is_map()) {
      add_missing(*there, entry.value);
    }
  }
}

Errors read_failed(const std::string& place, const std::string& path) {
  return {
      {ErrorCode::NotFound,
       place,
       0,
       "calibration",
       path + " cannot be read, a file that orrery calibrate wrote is needed; correct the path"}};
}

/// The version, and the keys, of the file.
void check(Reading& reading, const YamlNode& file) {
  const MapReader top(reading, file, section("calibration"), "");
  std::int64_t version = 0;
  if (!top.has("version"))
    top.missing("version", std::to_string(kCalibrationVersion));
  else
    top.read_integer("version", version, kCalibrationVersion, kCalibrationVersion);
  static const YamlNode none;
  const YamlNode* planner = top.find("planner");
  const MapReader of_planner(
      reading, planner == nullptr ? none : *planner, section("calibration.planner"), "planner");
  const YamlNode* cluster = top.find("cluster");
  const MapReader of_cluster(
      reading, cluster == nullptr ? none : *cluster, section("calibration.cluster"), "cluster");
}

}  // namespace

Errors add_calibration(YamlNode& root,
                       const std::string& directory,
                       std::vector<std::string>& places,
                       YamlNode& alone) {
  const YamlNode* named = root.find("calibration");
  if (named == nullptr || named->is_null()) return {};
  const Origin origin = root.origin_of("calibration");
  const std::string at =
      places.at(origin.source) + (origin.line > 0 ? ":" + std::to_string(origin.line) : "");
  if (!named->is_scalar() || named->scalar.empty())
    return {{ErrorCode::InvalidInput,
             places.at(origin.source),
             origin.line,
             "calibration",
             found_instead(*named, "the path of a file", "write for example measured.yaml")}};
  const bool below = named->origin.source == 0 && named->scalar.front() != '/';
  const std::string path = below ? directory + named->scalar : named->scalar;
  std::ifstream in(path, std::ios::binary);
  const std::optional<std::string> text = rest_of(in);
  if (!text) return read_failed(at, path);
  Result<YamlNode> file = parse_yaml(*text, path, 0);
  if (!file) return file.errors();
  const auto source = static_cast<std::uint32_t>(places.size());
  mark(*file, source);
  places.push_back(path);
  Reading reading(places);
  check(reading, *file);
  if (Errors errors = reading.take_errors(); !errors.empty()) return errors;
  YamlNode parts;
  parts.kind = YamlNode::Kind::Map;
  for (const char* key : {"timing", "planner", "cluster"})
    for (YamlEntry& entry : file->entries)
      if (entry.key == key && !entry.value.is_null()) parts.entries.push_back(std::move(entry));
  const YamlNode* timing = root.find("timing");
  if (timing != nullptr && timing->is_scalar() && parts.find("timing") != nullptr)
    return {{ErrorCode::InvalidInput,
             places.at(timing->origin.source),
             timing->origin.line,
             "timing",
             "is " + timing->scalar + ", and " + path +
                 " has times for mode simple; remove timing or calibration"}};
  alone = parse_yaml("cluster: {nodes: 1}\njobs: []\n", path, 0).value();
  add_missing(alone, parts);
  add_missing(root, parts);
  return {};
}

}  // namespace orrery::scenarios
