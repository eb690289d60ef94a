#include "scenarios/language/loader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/stream_text.hpp"
#include "scenarios/language/readers.hpp"
#include "scenarios/language/yaml/calibration_file.hpp"
#include "scenarios/language/yaml/overrides.hpp"

namespace orrery::scenarios {
namespace {

std::string_view directory_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : file.substr(0, slash + 1);
}

std::string stem_of(std::string_view file) {
  file.remove_prefix(directory_of(file).size());
  return std::string(file.substr(0, file.rfind('.')));
}

/// Levels that a world can model.
bool has_level(World world, Fidelity level) {
  switch (world) {
    case World::Model:
      return level == Fidelity::L0 || level == Fidelity::L1;
    case World::Sim:
      return level == Fidelity::L2 || level == Fidelity::L3;
    case World::Cluster:
      return true;
  }
  return false;
}

/// Whether the key's value is of an override.
bool is_overridden(const MapReader& top, std::string_view key) {
  const YamlNode* node = top.find(key);
  return node != nullptr && node->origin.source > 0;
}

void read_world(const MapReader& top, Scenario& scenario) {
  top.read_enum("world", scenario.world);
  const Fidelity lowest = scenario.world == World::Sim ? Fidelity::L2 : Fidelity::L0;
  scenario.fidelity = lowest;
  top.read_enum("fidelity", scenario.fidelity);
  if (has_level(scenario.world, scenario.fidelity)) return;
  // A caller that asks for another world need not know which level the file has for its own.
  if (is_overridden(top, "world") && !is_overridden(top, "fidelity"))
    scenario.fidelity = lowest;
  else
    top.fail("fidelity",
             "is " + std::string(to_string(scenario.fidelity)) + ", which world " +
                 std::string(to_string(scenario.world)) +
                 " lacks; L0 and L1 are levels of model, L2 and L3 of sim");
}

Scenario read_scenario(Reading& reading, const YamlNode& root, const std::string& file) {
  Scenario scenario;
  scenario.file = file;
  scenario.name = stem_of(file);
  const MapReader top(reading, root, section("scenario"), "");
  top.read_text("name", scenario.name);
  top.read_text("description", scenario.description);
  top.read_integer("seed", scenario.seed, 0, INT64_MAX);
  read_world(top, scenario);
  top.read_instant("until", scenario.until);
  top.read_number("time_scale", scenario.time_scale, 1, 1000);
  read_cluster(top, std::string(directory_of(file)), scenario);
  read_control(top, scenario);
  read_workload(top, std::string(directory_of(file)), scenario);
  read_jobs(top, scenario);
  check_queue_users(top, scenario);
  read_requests(top, scenario);
  read_faults(top, scenario);
  read_failures(top, std::string(directory_of(file)), scenario);
  top.read_bool("must_fail", scenario.must_fail);
  top.read_bool("invariants", scenario.invariants);
  read_expectations(top, scenario);
  if (root.is_map() && !top.has("jobs") && !top.has("workload"))
    reading.fail(root.origin,
                 "scenario",
                 "has neither jobs nor workload, one is needed; add for example jobs: [{name: "
                 "train, work: 300s}]");
  return scenario;
}

/// A scenario that names no policy has `fifo`: said here where `overrides` set its parameters
/// alone.
void name_policy(YamlNode& root, const std::vector<Override>& overrides) {
  const bool takes_parameters = std::ranges::any_of(
      overrides, [](const Override& each) { return each.path.starts_with("policy."); });
  if (!takes_parameters || !root.is_map() || root.find("policy") != nullptr) return;
  YamlEntry entry;
  entry.key = "policy";
  entry.key_origin = root.origin;
  entry.value.kind = YamlNode::Kind::Scalar;
  entry.value.origin = root.origin;
  entry.value.scalar = PolicyChoice{}.name;
  root.entries.push_back(std::move(entry));
}

/// Whether files that a scenario names in its language may be opened.
enum class Opens : std::uint8_t { Nothing, Calibration };

/// What is wrong with values of a calibration file, `alone`, that the scenario has in its stead.
Errors wrong_alone(const YamlNode& alone,
                   const std::vector<std::string>& places,
                   const Errors& known) {
  Errors out;
  if (!alone.is_map()) return out;
  Reading reading(places);
  (void)read_scenario(reading, alone, places.front());
  for (Error& error : reading.take_errors())
    if (error.file == places.back() &&
        std::ranges::find(known, error.text(), &Error::text) == known.end())
      out.push_back(std::move(error));
  return out;
}

/// A scenario, or errors told to `reading`.
Scenario read_root(Reading& reading, const YamlNode& root, const std::string& file, Opens opens) {
  if (opens == Opens::Nothing && root.find("calibration") != nullptr)
    reading.fail(root.origin_of("calibration"),
                 "calibration",
                 "names a file, which is opened for scenarios in files only; write what it says "
                 "under timing");
  if (root.is_map() || root.is_null()) return read_scenario(reading, root, file);
  reading.fail(root.origin,
               "scenario",
               found_instead(root, "a map", "write keys like cluster: and jobs: at its top"));
  return {};
}

Result<Scenario> parsed(std::string_view text,
                        const std::string& file,
                        const std::vector<Override>& overrides,
                        Opens opens,
                        PolicyChoice* policy) {
  Result<YamlNode> root = parse_yaml(text, file, 0);
  if (!root) return root.errors();
  if (root->is_null()) root->origin.line = 1;

  name_policy(*root, overrides);
  std::vector<std::string> places{file};
  Errors errors;
  for (const Override& override : overrides) {
    places.push_back(override_place(override));
    const auto source = static_cast<std::uint32_t>(places.size() - 1);
    for (Error& error : apply_override(*root, override, source)) errors.push_back(std::move(error));
  }

  YamlNode alone;
  if (opens == Opens::Calibration)
    for (Error& error : add_calibration(*root, std::string(directory_of(file)), places, alone))
      errors.push_back(std::move(error));
  Reading reading(places);
  Scenario scenario = read_root(reading, *root, file, opens);
  if (policy != nullptr) *policy = scenario.policy;
  if (!reading.failed() && errors.empty()) {
    errors = wrong_alone(alone, places, errors);
    if (errors.empty()) return scenario;
  }
  Errors all = reading.take_errors();
  for (Error& error : errors) all.push_back(std::move(error));
  return all;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text,
                                const std::string& file,
                                const std::vector<Override>& overrides,
                                PolicyChoice* policy) {
  return parsed(text, file, overrides, Opens::Nothing, policy);
}

Result<Scenario> scenario_of(const YamlNode& root, const std::vector<std::string>& places) {
  Reading reading(places);
  Scenario scenario = read_root(reading, root, "", Opens::Nothing);
  if (reading.failed()) return reading.take_errors();
  return scenario;
}

Result<Scenario> load_scenario_text(std::string_view text,
                                    const std::string& file,
                                    const std::vector<Override>& overrides,
                                    PolicyChoice* policy) {
  return parsed(text, file, overrides, Opens::Calibration, policy);
}

Result<Scenario> load_scenario(const std::string& path,
                               const std::vector<Override>& overrides,
                               PolicyChoice* policy) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return Error{ErrorCode::InvalidInput,
                 path,
                 0,
                 "scenario",
                 "is a folder, a file is needed; name a file in it"};
  std::ifstream in(path, std::ios::binary);
  const std::optional<std::string> text = rest_of(in);
  if (!text)
    return Error{ErrorCode::NotFound,
                 path,
                 0,
                 "scenario",
                 "cannot be read, a readable file is needed; check the path"};
  return parsed(*text, path, overrides, Opens::Calibration, policy);
}

}  // namespace orrery::scenarios
