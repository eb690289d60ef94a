#include "scenarios/language/yaml/overrides.hpp"

#include <optional>

#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

/// One step of a path: a key, then indices: "jobs[0]".
struct Step {
  std::string key;
  std::vector<std::size_t> indices;
};

constexpr std::size_t kPathStepsMax = 32;

std::optional<Step> parse_step(std::string_view text) {
  Step step;
  std::size_t bracket = text.find('[');
  step.key = std::string(text.substr(0, bracket));
  if (step.key.empty()) return std::nullopt;
  while (bracket != std::string_view::npos) {
    text.remove_prefix(bracket + 1);
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const auto index = parse_integer(text.substr(0, close));
    if (!index || *index < 0 || step.indices.size() >= kPathStepsMax) return std::nullopt;
    step.indices.push_back(static_cast<std::size_t>(*index));
    text.remove_prefix(close + 1);
    if (text.empty()) break;
    if (text.front() != '[') return std::nullopt;
    bracket = 0;
  }
  return step;
}

std::optional<std::vector<Step>> parse_path(std::string_view path) {
  std::vector<Step> steps;
  while (true) {
    const std::size_t dot = path.find('.');
    auto step = parse_step(path.substr(0, dot));
    if (!step || steps.size() >= kPathStepsMax) return std::nullopt;
    steps.push_back(std::move(*step));
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

void make_map(YamlNode& node, Origin origin) {
  if (!node.is_null()) return;
  node = YamlNode{};
  node.kind = YamlNode::Kind::Map;
  node.origin = origin;
}

/// `policy: easy` as `policy: {name: easy}`, so that a parameter can be added.
void open_policy(YamlNode& node) {
  YamlNode name = node;
  node = YamlNode{};
  node.kind = YamlNode::Kind::Map;
  node.origin = name.origin;
  const Origin origin = name.origin;
  node.entries.push_back({"name", origin, std::move(name)});
}

/// Follows one step from `node`, making what is missing; nullptr with `problem` set where it leads
/// nowhere.
YamlNode* follow(YamlNode& node, const Step& step, Origin origin, std::string& problem) {
  make_map(node, origin);
  if (!node.is_map()) {
    problem = "'" + step.key + "' is set below " + describe(node) +
              ", a map is needed there; set the whole value instead";
    return nullptr;
  }
  YamlNode* next = node.find(step.key);
  if (next == nullptr) {
    YamlNode empty;
    empty.origin = origin;
    node.entries.push_back({step.key, origin, std::move(empty)});
    next = &node.entries.back().value;
  }
  for (std::size_t index : step.indices) {
    if (next->is_null()) {
      next->kind = YamlNode::Kind::Sequence;
      next->origin = origin;
    }
    if (!next->is_sequence() || index > next->items.size()) {
      problem = "'" + step.key + "' has no element " + std::to_string(index) + ", it is " +
                describe(*next) +
                (next->is_sequence() ? " of " + std::to_string(next->items.size()) : "") +
                "; count from 0";
      return nullptr;
    }
    if (index == next->items.size()) {
      YamlNode empty;
      empty.origin = origin;
      next->items.push_back(std::move(empty));
    }
    next = &next->items[index];
  }
  return next;
}

}  // namespace

std::string override_place(const Override& override) {
  return "--set " + override.path + "=" + override.value;
}

Result<Override> parse_override(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error{ErrorCode::InvalidInput,
                 "--set " + std::string(text),
                 0,
                 "override",
                 "has no path before a '=', path=value is needed; write for example "
                 "--set cluster.nodes=8"};
  return Override{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Errors apply_override(YamlNode& root, const Override& override, std::uint32_t source) {
  const std::string place = override_place(override);
  const auto error = [&](std::string message) {
    return Errors{{ErrorCode::InvalidInput, place, 0, override.path, std::move(message)}};
  };
  const auto steps = parse_path(override.path);
  if (!steps)
    return error(
        "is no path of keys joined by '.', with [index] for lists; write for example "
        "jobs[0].priority");
  Result<YamlNode> value = parse_yaml(override.value, place, source);
  if (!value) return value.errors();

  const Origin origin{source, 0};
  YamlNode* node = &root;
  if (steps->size() > 1 && steps->front().key == "policy") {
    YamlNode* policy = root.find("policy");
    if (policy != nullptr && policy->is_scalar()) open_policy(*policy);
  }
  std::string problem;
  for (const Step& step : *steps) {
    node = follow(*node, step, origin, problem);
    if (node == nullptr) return error(problem);
  }
  *node = std::move(*value);
  node->origin = origin;
  return {};
}

}  // namespace orrery::scenarios
