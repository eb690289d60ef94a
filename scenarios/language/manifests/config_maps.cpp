// Documents of kind ConfigMap: handed to the volumes that name them, and written out as files of
// the job.
#include <algorithm>
#include <map>
#include <utility>

#include "core/job/check_program.hpp"
#include "scenarios/language/manifests/pod_template.hpp"

namespace orrery::scenarios {
namespace {

bool is_config_map(const YamlNode& node) {
  const YamlNode* kind = node.find("kind");
  return kind != nullptr && kind->scalar == "ConfigMap";
}

/// "namespace/name" of an object of Kubernetes.
std::string object_name(const YamlNode& node) {
  const YamlNode* name = value_at(&node, {"metadata", "name"});
  const YamlNode* space = value_at(&node, {"metadata", "namespace"});
  return (space == nullptr ? "default" : space->scalar) + "/" +
         (name == nullptr ? "" : name->scalar);
}

void judge_document(Reading& reading, const YamlNode& document) {
  const std::string subject = "ConfigMap " + object_name(document);
  if (const YamlNode* binary = value_at(&document, {"binaryData"});
      binary != nullptr && !binary->entries.empty())
    reading.fail(binary->origin,
                 subject + ": binaryData",
                 "is nothing that a job can bring along; put the files on the nodes and name their "
                 "folder by hostPath");
  const YamlNode* data = value_at(&document, {"data"});
  if (data == nullptr) return;
  if (!data->is_map())
    reading.fail(data->origin,
                 subject + ": data",
                 found_instead(*data, "a map", "write file.yaml: | and the text under it"));
  for (const YamlEntry& entry : data->entries)
    if (!is_file_name(entry.key))
      reading.fail(entry.key_origin,
                   subject + ": data." + entry.key,
                   "is no name of a file; write letters, digits, '-', '_' and '.'");
    else if (!entry.value.is_scalar() && !entry.value.is_null())
      reading.fail(entry.value.origin,
                   subject + ": data." + entry.key,
                   found_instead(entry.value, "a text", "write it behind '|'"));
}

using Documents = std::map<std::string, YamlNode>;

/// Moves the ConfigMaps among `nodes`, and those in lists among them, to `documents`.
// NOLINTNEXTLINE(misc-no-recursion): a list of lists is as deep as YAML may be
void take_out(Reading& reading, std::vector<YamlNode>& nodes, Documents& documents) {
  std::vector<YamlNode> others;
  for (YamlNode& node : nodes) {
    if (!is_config_map(node)) {
      YamlNode* list = node.find("kind") == nullptr ? nullptr : node.find("items");
      const bool had_items = list != nullptr && !list->items.empty();
      if (had_items) take_out(reading, list->items, documents);
      // A list of nothing but ConfigMaps has no job, and is no job without entries either.
      if (!had_items || !list->items.empty()) others.push_back(std::move(node));
      continue;
    }
    judge_document(reading, node);
    const std::string name = object_name(node);
    const Origin origin = node.origin;
    if (!documents.emplace(name, std::move(node)).second)
      reading.fail(origin, "ConfigMap " + name, "stands twice in the file; remove one of them");
  }
  nodes = std::move(others);
}

void hand_to_volumes(Reading& reading,
                     YamlNode* volumes,
                     const std::string& space,
                     const Documents& documents) {
  if (volumes == nullptr) return;
  for (YamlNode& volume : volumes->items) {
    YamlNode* map = volume.find("configMap");
    if (map == nullptr || !map->is_map()) continue;
    const YamlNode* name = map->find("name");
    const YamlNode* optional = map->find("optional");
    const auto document = documents.find(space + "/" + (name == nullptr ? "" : name->scalar));
    if (document != documents.end())
      map->entries.push_back({std::string(kDocument), map->origin, document->second, map->start});
    else if (optional == nullptr || optional->scalar != "true")
      reading.fail(map->origin_of("name"),
                   "volume configMap.name",
                   found_instead(name == nullptr ? YamlNode{} : *name,
                                 "a ConfigMap of this file",
                                 "add its document, with --- between them"));
  }
}

YamlNode* at(YamlNode* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) node = node == nullptr ? nullptr : node->find(key);
  return node;
}

// NOLINTNEXTLINE(misc-no-recursion): a list of lists is as deep as YAML may be
void hand_to(Reading& reading, YamlNode& node, const Documents& documents) {
  for (const std::string_view list : {"items", "jobs"})
    if (YamlNode* nodes = node.find(list))
      for (YamlNode& each : nodes->items) hand_to(reading, each, documents);
  if (YamlNode* manifest = node.find("manifest")) return hand_to(reading, *manifest, documents);
  YamlNode* spec = node.find("kind") == nullptr ? nullptr : node.find("spec");
  if (spec == nullptr) return;
  const YamlNode* said = value_at(&node, {"metadata", "namespace"});
  const std::string space = said == nullptr ? "default" : said->scalar;
  hand_to_volumes(reading, spec->find("volumes"), space, documents);
  hand_to_volumes(reading, at(spec, {"template", "spec", "volumes"}), space, documents);
  if (YamlNode* tasks = spec->find("tasks"))
    for (YamlNode& task : tasks->items)
      hand_to_volumes(reading, at(&task, {"template", "spec", "volumes"}), space, documents);
}

/// Name and text of each file that a volume has of its ConfigMap.
std::map<std::string, std::string> files_of(Reading& reading, const YamlNode& config_map) {
  std::map<std::string, std::string> out;
  const YamlNode* data = value_at(&config_map, {kDocument, "data"});
  if (data == nullptr) return out;
  const YamlNode* items = value_at(&config_map, {"items"});
  if (items == nullptr) {
    for (const YamlEntry& entry : data->entries) out[entry.key] = entry.value.scalar;
    return out;
  }
  for (const YamlNode& item : items->items) {
    const YamlNode* key = value_at(&item, {"key"});
    const YamlNode* path = value_at(&item, {"path"});
    const YamlNode* text = key == nullptr ? nullptr : data->find(key->scalar);
    if (text == nullptr)
      reading.fail(
          item.origin_of("key"),
          "volume configMap.items.key",
          found_instead(
              key == nullptr ? YamlNode{} : *key, "a key of the ConfigMap's data", "correct it"));
    else if (path == nullptr || !is_file_name(path->scalar))
      reading.fail(item.origin_of("path"),
                   "volume configMap.items.path",
                   found_instead(path == nullptr ? YamlNode{} : *path,
                                 "the name of a file without folders",
                                 "correct it"));
    else
      out[path->scalar] = text->scalar;
  }
  return out;
}

}  // namespace

void hand_out_config_maps(Reading& reading, std::vector<YamlNode>& documents) {
  Documents maps;
  take_out(reading, documents, maps);
  for (YamlNode& document : documents) hand_to(reading, document, maps);
}

std::string PodReader::folder_of(const YamlNode& config_map, const std::string& name) {
  const YamlNode* document = value_at(&config_map, {kDocument});
  if (document == nullptr) return name;
  const std::map<std::string, std::string> files = files_of(reading_, config_map);
  // Volumes with the same files share a folder; others of one name have folders of their own.
  for (int number = 1;; ++number) {
    const std::string folder = name + (number == 1 ? "" : "-" + std::to_string(number));
    std::map<std::string, std::string> there;
    for (const JobFileSpec& file : job_.files)
      if (file.volume == folder) there[file.name] = file.text;
    if (there == files && !files.empty()) return folder;
    if (!there.empty()) continue;
    for (const auto& [file, text] : files) job_.files.push_back({folder, file, text});
    return folder;
  }
}

}  // namespace orrery::scenarios
