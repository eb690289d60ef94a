#include "scenarios/language/placement/document_parts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace orrery::scenarios {
namespace {

/// Keys that a `yaml_text` may have; without any of them it is a component_placement.
constexpr std::array<std::string_view, 9> kPartKeys{"cluster",
                                                    "component_placement",
                                                    "node_groups",
                                                    "nodes",
                                                    "num_nodes",
                                                    "strategy",
                                                    "config",
                                                    "hardware_types",
                                                    "isolate_accelerator"};

bool is_part(std::string_view key) {
  return std::find(kPartKeys.begin(), kPartKeys.end(), key) != kPartKeys.end();
}

/// Whether a map is the value of one component rather than a map of components.
bool is_placement_value(const YamlNode& map) {
  return map.find("placement") != nullptr &&
         std::all_of(map.entries.begin(), map.entries.end(), [](const YamlEntry& entry) {
           return entry.key == "placement" || entry.key == "node_group";
         });
}

YamlNode read_tree(std::string_view text, std::string_view what, DocumentReading& reading) {
  auto tree = parse_yaml(text, "", 0);
  if (tree) {
    YamlNode root = std::move(tree).value();
    merge_keys(root);
    return root;
  }
  for (const Error& error : tree.errors()) {
    const bool colon = error.message.find("illegal map value") != std::string::npos;
    reading.add_document({error.line, error.line > 0 ? 1 : 0},
                         std::string(what) + ": " + error.message +
                             (colon ? "; a text that ends in a colon needs quotes" : ""));
  }
  return {};
}

YamlNode composed(std::string_view text,
                  const PlacementContext& context,
                  DocumentReading& reading,
                  std::vector<std::string>& files) {
  Result<Composition> composition = compose(text, context.path, context.sources);
  if (composition) {
    YamlNode root = std::move(composition.value().root);
    files = std::move(composition.value().files);
    reading.set_files(files);
    move_into_files(root);
    merge_keys(root);
    return root;
  }
  files.push_back(context.path);
  for (const Error& error : composition.errors()) {
    const auto known = std::find(files.begin(), files.end(), error.file);
    const auto index = static_cast<int>(known - files.begin());
    if (known == files.end()) files.push_back(error.file);
    const std::string subject = error.subject.empty() ? "" : error.subject + ": ";
    reading.add_document({index * kFileLines + error.line, error.line > 0 ? 1 : 0},
                         subject + error.message);
  }
  return {};
}

/// Puts the inventory where a document of RLinf has none.
void put_nodes(const YamlNode& nodes, YamlNode& root) {
  YamlNode* cluster = root.find("cluster");
  if (cluster == nullptr) {
    root.entries.push_back({"cluster", root.origin, {}, root.start});
    cluster = &root.entries.back().value;
    cluster->kind = YamlNode::Kind::Map;
  }
  if (YamlNode* written = cluster->find("nodes"))
    *written = nodes;
  else if (cluster->is_map())
    cluster->entries.push_back({"nodes", cluster->origin, nodes, cluster->start});
}

}  // namespace

DocumentParts::DocumentParts(std::string_view text,
                             const PlacementContext& context,
                             DocumentReading& reading,
                             std::vector<std::string>& files) {
  root_ = read_tree(text, "document", reading);
  if (reading.failed()) return;
  const bool is_composed = has_defaults(root_) || !context.sources.overrides.empty();
  if (context.sources.read && is_composed) root_ = composed(text, context, reading, files);
  if (reading.failed()) return;
  if (context.nodes && root_.is_map()) put_nodes(*context.nodes, root_);
  if (!root_.is_map()) {
    reading.fail({1, 1},
                 {"document",
                  describe(root_),
                  "a map with cluster and component_placement, strategy or jobs",
                  "write for example cluster: {nodes: [{gpus: 8}], component_placement: {actor: "
                  "0-7}}"});
    return;
  }
  read_yaml_text(reading);
  levels_.push_back(&root_);
  check_repeated(reading);
  if (const YamlNode* cluster = value_of(root_, "cluster")) {
    if (cluster->is_map())
      levels_.push_back(cluster);
    else
      reading.fail(place_of(*cluster),
                   {"cluster",
                    describe(*cluster),
                    "a map",
                    "write for example cluster: {nodes: [{gpus: 8}]}"});
  }
  if (yaml_text_.is_scalar() || is_placement_value(yaml_text_)) take_value(reading);
}

void DocumentParts::read_yaml_text(DocumentReading& reading) {
  const YamlNode* node = value_of(root_, "yaml_text");
  if (node == nullptr) return;
  if (!node->is_scalar()) {
    reading.fail(place_of(*node),
                 {"yaml_text", describe(*node), "a text", "write it as one text, or remove it"});
    return;
  }
  DocumentReading inner;
  yaml_text_ = read_tree(node->scalar, "yaml_text", inner);
  for (PlacementFinding& finding : inner.take_findings()) {
    const placement::TextPosition at{finding.at.line + kYamlTextLines, finding.at.column};
    reading.add_document(at, std::move(finding.message));
  }
  move_into_yaml_text(yaml_text_);
  if (!yaml_text_.is_map() || is_placement_value(yaml_text_)) return;
  const bool has_parts = std::any_of(yaml_text_.entries.begin(),
                                     yaml_text_.entries.end(),
                                     [](const YamlEntry& entry) { return is_part(entry.key); });
  if (!has_parts) {
    placement_ = &yaml_text_;
    return;
  }
  levels_.push_back(&yaml_text_);
  const YamlNode* cluster = value_of(yaml_text_, "cluster");
  if (cluster != nullptr && cluster->is_map()) levels_.push_back(cluster);
}

/// A `yaml_text` that is a placement alone stands for that of the only component.
void DocumentParts::take_value(DocumentReading& reading) {
  const YamlNode* written = find("component_placement");
  if (written == nullptr || !written->is_map() || written->entries.size() != 1) {
    reading.fail(place_of(yaml_text_),
                 {"yaml_text",
                  "a placement without a component",
                  "a map from components to their placement",
                  "write for example actor: 0-3"});
    return;
  }
  mended_placement_ = *written;
  YamlNode& value = mended_placement_.entries.front().value;
  YamlNode* inner = value.is_map() && yaml_text_.is_scalar() ? value.find("placement") : nullptr;
  (inner == nullptr ? value : *inner) = yaml_text_;
  placement_ = &mended_placement_;
}

void DocumentParts::check_repeated(DocumentReading& reading) const {
  const auto check = [&](const YamlNode& map, const std::string& prefix) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      const YamlEntry& entry = map.entries[i];
      if (is_part(entry.key) && map.find(entry.key) != &entry.value)
        reading.fail(place_of(entry.key_start),
                     {prefix + entry.key,
                      "the key a second time",
                      "each key once",
                      "remove one of the two, or join them"});
    }
  };
  check(root_, "");
  if (const YamlNode* cluster = value_of(root_, "cluster")) {
    check(*cluster, "cluster.");
    const YamlNode* inner = value_of(*cluster, "component_placement");
    const YamlNode* outer = value_of(root_, "component_placement");
    if (inner != nullptr && outer != nullptr)
      reading.fail(place_of(*inner),
                   {"cluster.component_placement",
                    "one beside the document's component_placement",
                    "one of the two",
                    "remove one, or join them"});
  }
}

const YamlNode* DocumentParts::find(std::string_view key) const {
  for (const YamlNode* level : levels_)
    if (const YamlNode* found = level->find(key)) return found;
  return nullptr;
}

const YamlNode* DocumentParts::cluster() const {
  for (const YamlNode* level : levels_)
    if (level != &root_ && (level->find("nodes") != nullptr || level->find("groups") != nullptr))
      return level;
  return nullptr;
}

const YamlNode* DocumentParts::placement() const {
  return placement_ != nullptr ? placement_ : find("component_placement");
}

}  // namespace orrery::scenarios
