#include "tools/sweep/sweep_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "scenarios/language/yaml/reading.hpp"
#include "scenarios/language/yaml/section_table.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"
#include "tools/console/arguments.hpp"
#include "tools/sweep/shell_words.hpp"

namespace orrery::cli {
namespace {

using scenarios::MapReader;
using scenarios::Origin;
using scenarios::Reading;
using scenarios::YamlEntry;
using scenarios::YamlNode;

constexpr std::array<scenarios::SectionKeys, 1> kSweepKeys{
    {{"sweep", {"name description scenario set grid list policies seeds"}}}};

/// A text inside the double quotes of YAML.
std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

/// A node as YAML on one line. Inside a list or a map more characters must be quoted.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
std::string flow_text(const YamlNode& node, bool inside) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "null";
    case YamlNode::Kind::Scalar: {
      const bool special =
          node.scalar.empty() || node.scalar.find('\n') != std::string::npos ||
          (inside && node.scalar.find_first_of(",[]{}:#&*!|>'\"%@`") != std::string::npos);
      return node.quoted || special ? yaml_quoted(node.scalar) : node.scalar;
    }
    case YamlNode::Kind::Sequence:
      for (const YamlNode& item : node.items)
        out += (out.empty() ? "" : ", ") + flow_text(item, true);
      return "[" + out + "]";
    case YamlNode::Kind::Map:
      for (const YamlEntry& entry : node.entries)
        out += (out.empty() ? "" : ", ") + yaml_quoted(entry.key) + ": " +
               flow_text(entry.value, true);
      return "{" + out + "}";
  }
  return out;
}

std::string label_of(const YamlNode& node) {
  return node.is_scalar() ? node.scalar : flow_text(node, false);
}

SweepSetting setting_of(const std::string& path, const YamlNode& node) {
  return {{path, flow_text(node, false)}, label_of(node), node.origin.line};
}

/// Whether setting one path changes what the other sets: equal, or one is above the other.
bool meets(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (!b.starts_with(a)) return false;
  return a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[';
}

/// Reads one file; everything that is wrong goes to `reading`.
class SweepReader {
 public:
  SweepReader(Reading& reading, const YamlNode& root, const std::string& file)
      : reading_(reading), table_(kSweepKeys), top_(reading, root, table_.find("sweep"), "") {
    sweep_.file = file;
    sweep_.name = std::filesystem::path(file).stem().string();
  }

  SweepFile read() {
    top_.read_text("name", sweep_.name);
    top_.read_text("description", sweep_.description);
    if (sweep_.name.empty() || sweep_.name.find('/') != std::string::npos)
      top_.fail("name", "is no name for a folder, needed a word without '/'; correct it");
    read_scenario();
    read_policies();
    read_seeds();
    read_fixed();
    read_points();
    check_count();
    return std::move(sweep_);
  }

 private:
  void read_scenario() {
    std::string path;
    top_.read_text("scenario", path);
    if (!top_.has("scenario")) {
      top_.missing("scenario", "scenario: quickstart.yaml");
      return;
    }
    const std::filesystem::path folder = std::filesystem::path(sweep_.file).parent_path();
    sweep_.scenario = (folder / path).lexically_normal().string();
    sweep_.scenario_line = top_.find("scenario")->origin.line;
  }

  void read_policies() {
    if (!top_.has("policies")) return;
    std::set<std::string> known;
    const auto items = top_.items("policies");
    for (const YamlNode& item : items) {
      const YamlNode* name = item.is_map() ? item.find("name") : &item;
      if (name == nullptr || !name->is_scalar()) {
        reading_.fail(item.origin,
                      "policies",
                      found_instead(item,
                                    "the name of a policy, or a map with its name and parameters",
                                    "write for example {name: easy, backfill_depth: 10}"));
        continue;
      }
      SweepPolicy policy{name->scalar, name->scalar, flow_text(item, false), item.origin.line};
      for (const YamlEntry& entry : item.entries)
        if (entry.key != "name") policy.label += " " + entry.key + "=" + label_of(entry.value);
      if (known.insert(policy.label).second)
        sweep_.policies.push_back(std::move(policy));
      else
        reading_.fail(item.origin,
                      "policies",
                      policy.label + " stands twice, each is needed once; remove one of them");
    }
    if (items.empty() && top_.find("policies")->is_sequence())
      top_.fail("policies",
                "is an empty list, at least one policy is needed; name one, or leave the key out "
                "for the scenario's own");
  }

  void read_seeds() {
    const YamlNode* node = top_.find("seeds");
    if (node == nullptr) return;
    if (node->is_sequence()) {
      std::set<std::uint64_t> known;
      for (const YamlNode& item : node->items) {
        const auto seed = item.is_scalar() ? scenarios::parse_integer(item.scalar) : std::nullopt;
        if (!seed || *seed < 0) {
          reading_.fail(item.origin, "seeds", found_instead(item, "a whole number", "correct it"));
        } else if (!known.insert(static_cast<std::uint64_t>(*seed)).second) {
          reading_.fail(item.origin,
                        "seeds",
                        item.scalar + " stands twice, each is needed once; remove one of them");
        } else {
          sweep_.seeds.push_back(static_cast<std::uint64_t>(*seed));
        }
      }
      if (node->items.empty())
        top_.fail(
            "seeds",
            "is an empty list, at least one seed is needed; write for example 1..10, or leave "
            "the key out for the scenario's own");
      return;
    }
    const auto range = node->is_scalar() ? seed_range("seeds", node->scalar, kSweepCellsMax)
                                         : Result<SeedRange>(Error{});
    if (!range) {
      const bool is_range = node->is_scalar() && node->scalar.find("..") != node->scalar.npos;
      top_.fail("seeds",
                is_range
                    ? range.errors().front().message
                    : found_instead(*node, "a range or a list of seeds", "write 1..10 or [1, 2]"));
      return;
    }
    for (std::uint64_t i = 0; i < range->count(); ++i) sweep_.seeds.push_back(range->first + i);
  }

  /// Whether `path` may be set; what else sets it is remembered.
  bool take_path(const std::string& path, Origin origin, const std::string& key) {
    if (meets(path, "seed") || meets(path, "policy.name") || path == "policy") {
      const bool seed = meets(path, "seed");
      reading_.fail(origin,
                    key,
                    std::string(path) + " is set here, but a cell's " + (seed ? "seed" : "policy") +
                        " comes from " + (seed ? "seeds" : "policies") + "; write it there");
      return false;
    }
    for (const auto& [other, other_key] : taken_) {
      if (!meets(path, other)) continue;
      reading_.fail(origin,
                    key,
                    path + " is set here, and " + (other == path ? "" : other + " ") + "under " +
                        other_key + " too, each value is needed once; remove one of them");
      return false;
    }
    taken_.emplace_back(path, key);
    return true;
  }

  void read_fixed() {
    const YamlNode* node = map_of("set", "cluster.nodes: 8");
    if (node == nullptr) return;
    for (const YamlEntry& entry : node->entries)
      if (take_path(entry.key, entry.key_origin, "set"))
        sweep_.fixed.push_back(setting_of(entry.key, entry.value));
  }

  /// The map under `key`; nullptr where there is none.
  const YamlNode* map_of(std::string_view key, std::string_view example) {
    const YamlNode* node = top_.find(key);
    if (node == nullptr || node->is_map()) return node;
    top_.fail(key,
              found_instead(*node,
                            "a map from paths of the scenario to values",
                            "write for example " + std::string(example)));
    return nullptr;
  }

  void read_points() {
    if (top_.has("grid") && top_.has("list")) {
      top_.fail("list", "stands beside grid, one of them says which points there are; keep one");
    } else if (top_.has("grid")) {
      read_grid();
    } else if (top_.has("list")) {
      read_list();
    } else {
      reading_.fail(Origin{0, 1},
                    "sweep",
                    "has neither grid nor list, one is needed; write for example grid: "
                    "{cluster.nodes: [4, 8]}, or use orrery compare for policies and seeds alone");
    }
  }

  void read_grid() {
    const YamlNode* node = map_of("grid", "cluster.nodes: [4, 8]");
    if (node == nullptr) return;
    if (node->entries.empty())
      top_.fail("grid",
                "is empty, at least one path with its values is needed; write for example "
                "cluster.nodes: [4, 8]");
    sweep_.points = {SweepPoint{}};
    for (const YamlEntry& entry : node->entries) {
      if (!take_path(entry.key, entry.key_origin, "grid")) continue;
      const YamlNode& values = entry.value;
      if (!values.is_sequence() || values.items.empty()) {
        reading_.fail(entry.key_origin,
                      "grid: " + entry.key,
                      values.is_sequence()
                          ? "has no values, at least one is needed; write for example [4, 8]"
                          : found_instead(values, "a list of values", "write for example [4, 8]"));
        continue;
      }
      std::set<std::string> known;
      for (const YamlNode& value : values.items)
        if (!known.insert(flow_text(value, false)).second)
          reading_.fail(value.origin,
                        "grid: " + entry.key,
                        label_of(value) +
                            " stands twice, each value is needed once; remove one of "
                            "them");
      if (sweep_.points.size() > kSweepCellsMax / values.items.size()) {
        too_many_ = true;
        continue;
      }
      sweep_.parameters.push_back(entry.key);
      std::vector<SweepPoint> points;
      for (const SweepPoint& before : sweep_.points)
        for (const YamlNode& value : values.items) {
          points.push_back(before);
          points.back().emplace_back(setting_of(entry.key, value));
        }
      sweep_.points = std::move(points);
    }
  }

  void read_list() {
    const auto items = top_.items("list");
    if (items.empty() && top_.find("list")->is_sequence())
      top_.fail("list",
                "is empty, at least one point is needed; write for example "
                "- {cluster.nodes: 4}");
    std::vector<std::string> seen;
    for (const YamlNode& item : items) {
      if (!item.is_map()) {
        reading_.fail(item.origin,
                      "list",
                      found_instead(item,
                                    "a map from paths of the scenario to values",
                                    "write for example {cluster.nodes: 4}"));
        continue;
      }
      for (const YamlEntry& entry : item.entries)
        if (std::ranges::find(seen, entry.key) == seen.end()) {
          seen.push_back(entry.key);
          if (take_path(entry.key, entry.key_origin, "list"))
            sweep_.parameters.push_back(entry.key);
        }
    }
    std::set<std::vector<std::string>> known;
    for (const YamlNode& item : items) {
      SweepPoint point(sweep_.parameters.size());
      std::vector<std::string> values(sweep_.parameters.size());
      for (std::size_t i = 0; i < sweep_.parameters.size(); ++i)
        if (const YamlNode* value = item.find(sweep_.parameters[i])) {
          point[i] = setting_of(sweep_.parameters[i], *value);
          values[i] = point[i]->override.value;
        }
      check_repeated_keys(item);
      if (!known.insert(values).second)
        reading_.fail(item.origin,
                      "list",
                      "the same point stands twice, each is needed once; remove one of them");
      sweep_.points.push_back(std::move(point));
    }
  }

  void check_repeated_keys(const YamlNode& item) {
    std::set<std::string> keys;
    for (const YamlEntry& entry : item.entries)
      if (!keys.insert(entry.key).second)
        reading_.fail(entry.key_origin,
                      "list: " + entry.key,
                      "stands twice, each key stands once in a map; remove one of them");
  }

  void check_count() {
    const std::size_t policies = std::max<std::size_t>(sweep_.policies.size(), 1);
    const std::size_t seeds = std::max<std::size_t>(sweep_.seeds.size(), 1);
    const std::size_t points = std::max<std::size_t>(sweep_.points.size(), 1);
    if (!too_many_ && points <= kSweepCellsMax / policies / seeds) return;
    reading_.fail(Origin{0, 1},
                  "sweep",
                  "has more than " + std::to_string(kSweepCellsMax) +
                      " cells (points times policies times seeds), at most so many are possible; "
                      "take fewer values, or make two sweeps of it");
  }

  Reading& reading_;
  scenarios::SectionTable table_;
  MapReader top_;
  SweepFile sweep_;
  std::vector<std::pair<std::string, std::string>> taken_;  // Path, and the key that sets it.
  bool too_many_ = false;
};

}  // namespace

Result<SweepFile> read_sweep(std::string_view text, const std::string& file) {
  auto root = scenarios::parse_yaml(text, file, 0);
  if (!root) return root.errors();
  if (root->is_null()) root->origin.line = 1;
  Reading reading({file});
  SweepFile sweep = SweepReader(reading, *root, file).read();
  if (reading.failed()) return reading.take_errors();
  return sweep;
}

bool is_sweep(std::string_view text) {
  const auto root = scenarios::parse_yaml(text, "", 0);
  if (!root || !root->is_map()) return false;
  const YamlNode* scenario = root->find("scenario");
  // No other file has that key; a sweep without a grid is told what it lacks.
  return scenario != nullptr && scenario->is_scalar();
}

std::vector<SweepCell> cells_of(const SweepFile& sweep) {
  std::vector<SweepCell> cells;
  for (std::size_t point = 0; point < sweep.points.size(); ++point)
    for (std::size_t policy = 0; policy < sweep.policies.size(); ++policy)
      for (const std::uint64_t seed : sweep.seeds)
        cells.push_back({cells.size() + 1, point, policy, seed});
  return cells;
}

std::vector<scenarios::Override> overrides_of(const SweepFile& sweep,
                                              std::size_t point,
                                              std::size_t policy) {
  std::vector<scenarios::Override> out;
  if (const std::string& value = sweep.policies[policy].value; !value.empty())
    out.push_back({"policy", value});
  for (const SweepSetting& setting : sweep.fixed) out.push_back(setting.override);
  for (const auto& setting : sweep.points[point])
    if (setting) out.push_back(setting->override);
  return out;
}

std::string words_of(const SweepFile& sweep, const SweepCell& cell) {
  std::string out;
  for (const auto& setting : sweep.points[cell.point])
    if (setting) out += setting->override.path + "=" + setting->label + ", ";
  return out + "policy " + sweep.policies[cell.policy].label + ", seed " +
         std::to_string(cell.seed);
}

std::string command_of(const SweepFile& sweep, const SweepCell& cell) {
  std::string out = "orrery sim " + shell_word(sweep.scenario);
  for (const scenarios::Override& each : overrides_of(sweep, cell.point, cell.policy))
    out += " --set " + shell_word(each.path + "=" + each.value);
  return out + " --seed " + std::to_string(cell.seed);
}

}  // namespace orrery::cli
