#include "scenarios/language/rlinf/inventory_words.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery::scenarios {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 7 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_model(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

void put(YamlNode& map, std::string_view key, std::string_view value, bool is_text) {
  YamlEntry entry;
  entry.key = std::string(key);
  entry.value.kind = YamlNode::Kind::Scalar;
  entry.value.quoted = is_text;
  entry.value.scalar = std::string(value);
  map.entries.push_back(std::move(entry));
}

/// "8xH100:2" as {gpus: 8, gpu_model: H100, count: 2}.
std::optional<YamlNode> node_of(std::string_view part) {
  YamlNode node;
  node.kind = YamlNode::Kind::Map;
  const std::size_t colon = std::min(part.find(':'), part.size());
  const std::string_view devices = part.substr(0, colon);
  const std::size_t x = std::min(devices.find('x'), devices.size());
  if (!is_number(devices.substr(0, x))) return std::nullopt;
  put(node, "gpus", devices.substr(0, x), false);
  if (x < devices.size()) {
    if (!is_model(devices.substr(x + 1))) return std::nullopt;
    put(node, "gpu_model", devices.substr(x + 1), true);
  }
  if (colon < part.size()) {
    if (!is_number(part.substr(colon + 1))) return std::nullopt;
    put(node, "count", part.substr(colon + 1), false);
  }
  return node;
}

}  // namespace

bool are_inventory_words(std::string_view words) {
  return !words.empty() && words.front() >= '0' && words.front() <= '9';
}

Result<YamlNode> inventory_of_words(std::string_view words) {
  YamlNode out;
  out.kind = YamlNode::Kind::Sequence;
  Errors errors;
  while (true) {
    const std::size_t comma = std::min(words.find(','), words.size());
    const std::string_view part = words.substr(0, comma);
    if (auto node = node_of(part))
      out.items.push_back(std::move(*node));
    else
      errors.push_back({ErrorCode::InvalidInput,
                        {},
                        0,
                        "nodes",
                        "found '" + std::string(part) +
                            "', needed DEVICESxMODEL:NODES like 8xH100:2; correct it, or name a "
                            "file"});
    if (comma == words.size()) break;
    words.remove_prefix(comma + 1);
  }
  if (!errors.empty()) return errors;
  return out;
}

Result<YamlNode> inventory_of_file(std::string_view text, const std::string& path) {
  Result<YamlNode> tree = parse_yaml(text, path, 0);
  if (!tree) return tree;
  const YamlNode* nodes = &tree.value();
  if (const YamlNode* cluster = nodes->find("cluster")) nodes = cluster;
  if (const YamlNode* list = nodes->find("nodes")) nodes = list;
  if (nodes->is_sequence()) return *nodes;
  return Error{ErrorCode::InvalidInput,
               path,
               nodes->origin.line,
               "nodes",
               "found " + describe(*nodes) +
                   ", needed a list like [{gpus: 8, gpu_model: H100, count: 2}]; write one, under "
                   "nodes or alone"};
}

}  // namespace orrery::scenarios
