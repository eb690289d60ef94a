// The shape of `node_groups`: mappings, known fields, lists. What they mean is judged in the core.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "scenarios/language/placement/document_cluster.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {
namespace {

using placement::ErrorKind;
using placement::GroupDeclaration;
using GroupPhase = ConfigStep::Phase;
using GroupPart = ConfigStep::Part;

constexpr std::array<std::string_view, 5> kGroupFields{
    "label", "node_ranks", "hardware", "ignore_hardware", "env_configs"};
constexpr std::array<std::string_view, 2> kGroupRequired{"label", "node_ranks"};
constexpr std::array<std::string_view, 2> kHardwareFields{"type", "configs"};
constexpr std::array<std::string_view, 3> kEnvFields{
    "node_ranks", "env_vars", "python_interpreter_path"};
constexpr std::array<std::string_view, 1> kEnvRequired{"node_ranks"};

using Words = std::span<const std::string_view>;

std::string joined(Words words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

/// What may stand behind a needed field.
std::string_view example_of(std::string_view key) {
  if (key == "label") return ": a800";
  if (key == "node_ranks") return ": 0-1";
  if (key == "type") return ": Franka";
  return ": [{node_rank: 0}]";
}

/// Fields of one mapping: unknown, repeated and missing ones are reported. True where it is sound.
bool check_fields(DocumentReading& reading,
                  const YamlNode& node,
                  const std::string& subject,
                  ConfigStep step,
                  Words known,
                  Words required) {
  bool sound = true;
  for (const YamlEntry& entry : node.entries) {
    const bool is_known = std::find(known.begin(), known.end(), entry.key) != known.end();
    const bool repeated = node.find(entry.key) != &entry.value;
    if (is_known && !repeated) continue;
    const std::string_view near = nearest(entry.key, known);
    std::string remedy = "remove it";
    if (!repeated && !near.empty()) remedy = "write " + std::string(near) + ", or remove it";
    reading.fail(ErrorKind::UnknownField,
                 step,
                 place_of(entry.key_start),
                 {subject,
                  "field '" + entry.key + "'" + (repeated ? " a second time" : ""),
                  repeated ? "each field once" : "one of " + joined(known),
                  remedy});
    sound = false;
  }
  for (const std::string_view key : required) {
    if (value_of(node, key) != nullptr) continue;
    reading.fail(ErrorKind::MissingField,
                 step,
                 place_of(node),
                 {subject,
                  "no " + std::string(key),
                  "the field " + std::string(key),
                  "write for example " + std::string(key) + std::string(example_of(key))});
    sound = false;
  }
  return sound;
}

/// Reads one group. What is wrong with a part of it does not keep the rest from being judged.
class GroupReader {
 public:
  GroupReader(DocumentReading& reading, const YamlNode& node, std::int32_t index)
      : reading_(reading), node_(node), index_(index) {
    subject_ = "node_groups[" + std::to_string(index) + "]";
    const YamlNode* label = value_of(node, "label");
    if (label == nullptr || !label->is_scalar()) return;
    label_ = placed_text(*label);
    subject_ = "node group '" + label_.text + "'";
  }

  const std::string& label() const { return label_.text; }

  bool check() {
    const ConfigStep step{GroupPhase::Fields, 0, {}};
    if (!node_.is_map()) {
      reading_.fail(ErrorKind::NodeGroupNotMapping,
                    step,
                    place_of(node_),
                    {subject_,
                     describe(node_),
                     "a mapping with label and node_ranks",
                     "write - label: a800 and node_ranks: 0-1 below each other"});
      return false;
    }
    return check_fields(reading_, node_, subject_, step, kGroupFields, kGroupRequired);
  }

  /// What of the group can be understood; nothing where that is no group of any nodes.
  std::optional<GroupDeclaration> read() {
    GroupDeclaration group;
    group.label = label_;
    const YamlNode* label = value_of(node_, "label");
    const YamlNode* node_ranks = value_of(node_, "node_ranks");
    if (label != nullptr && !label->is_scalar())
      reading_.fail(place_of(*label),
                    {subject_, "label " + describe(*label), "a text", "write one text as label"});
    if (label_.text.empty() || node_ranks == nullptr) sound_ = false;
    if (node_ranks != nullptr) group.node_ranks = ranks(*node_ranks, subject_);
    const bool declarable = !label_.text.empty() && node_ranks != nullptr && sound_;
    if (const YamlNode* hardware = value_of(node_, "hardware")) read_hardware(*hardware, group);
    if (const YamlNode* ignore = value_of(node_, "ignore_hardware"))
      group.ignore_hardware = read_truth(reading_, *ignore, subject_ + " ignore_hardware", false);
    if (const YamlNode* list = value_of(node_, "env_configs")) read_environments(*list, group);
    if (!declarable) return std::nullopt;
    return group;
  }

  bool sound() const { return sound_; }

 private:
  ConfigStep step(GroupPart part) const { return {GroupPhase::Group, index_, part}; }

  void wrong(ErrorKind kind,
             GroupPart part,
             const YamlNode& node,
             std::string_view what,
             std::string needed,
             std::string remedy) {
    reading_.fail(
        kind,
        step(part),
        place_of(node),
        {subject_, std::string(what) + describe(node), std::move(needed), std::move(remedy)});
    sound_ = false;
  }

  /// Rank text; a list of ranks and ranges is joined to one.
  placement::PlacedText ranks(const YamlNode& node, const std::string& subject) {
    if (node.is_scalar()) return placed_text(node);
    placement::PlacedText text{"", place_of(node)};
    for (const YamlNode& item : node.items) {
      if (item.is_scalar() && text.text.empty()) text.at = place_of(item);
      if (item.is_scalar()) text.text += (text.text.empty() ? "" : ",") + item.scalar;
    }
    const bool texts = node.is_sequence() &&
                       std::all_of(node.items.begin(), node.items.end(), [](const YamlNode& item) {
                         return item.is_scalar();
                       });
    if (texts) return text;
    reading_.fail(ErrorKind::RankFormat,
                  {GroupPhase::Ranks, 0, {}},
                  place_of(node),
                  {subject,
                   "node_ranks " + describe(node),
                   "a rank, a list of ranges like 0-3,5 or all",
                   "write for example node_ranks: 0-3"});
    sound_ = false;
    return text;
  }

  void read_hardware(const YamlNode& node, GroupDeclaration& group) {
    if (!node.is_map())
      return wrong(ErrorKind::HardwareConfigNotMapping,
                   GroupPart::HardwareFields,
                   node,
                   "hardware ",
                   "a mapping with type and configs",
                   "write for example {type: Franka, configs: [{node_rank: 0}]}");
    if (!check_fields(reading_,
                      node,
                      subject_ + " hardware",
                      step(GroupPart::HardwareFields),
                      kHardwareFields,
                      kHardwareFields))
      sound_ = false;
    const YamlNode* type = value_of(node, "type");
    const YamlNode* configs = value_of(node, "configs");
    if (type != nullptr && !type->is_scalar())
      wrong(ErrorKind::HardwareTypeUnsupported,
            GroupPart::HardwareType,
            *type,
            "type ",
            "the name of a type",
            "write for example type: Franka");
    if (configs != nullptr && !configs->is_sequence())
      wrong(ErrorKind::HardwareConfigNotMapping,
            GroupPart::Entries,
            *configs,
            "configs ",
            "a list of mappings",
            "write - before each entry");
    placement::GroupHardware hardware;
    if (type != nullptr && type->is_scalar()) hardware.type = placed_text(*type);
    if (configs != nullptr)
      for (const YamlNode& item : configs->items) read_entry(item, hardware);
    if (!hardware.type.text.empty()) group.hardware = std::move(hardware);
  }

  void read_entry(const YamlNode& node, placement::GroupHardware& to) {
    if (!node.is_map())
      return wrong(ErrorKind::HardwareConfigNotMapping,
                   GroupPart::Entries,
                   node,
                   "a hardware entry that is ",
                   "a mapping with node_rank",
                   "write for example - {node_rank: 0}");
    placement::HardwareEntry entry;
    entry.at = place_of(node);
    const YamlNode* rank = value_of(node, "node_rank");
    if (rank == nullptr) {
      reading_.fail(ErrorKind::MissingField,
                    step(GroupPart::Entries),
                    place_of(node),
                    {subject_ + " hardware",
                     "no node_rank",
                     "the field node_rank",
                     "write for example node_rank: 0"});
      sound_ = false;
      return;
    }
    const auto value = parse_whole(*rank);
    if (!value || *value < 0 || *value > INT32_MAX)
      return wrong(ErrorKind::RankFormat,
                   GroupPart::Entries,
                   *rank,
                   "node_rank ",
                   "a whole number from 0",
                   "write for example node_rank: 0");
    entry.node_rank = static_cast<std::int32_t>(*value);
    for (const YamlEntry& field : node.entries)
      if (field.key != "node_rank") entry.fields.push_back({field.key, flat(field.value)});
    std::stable_sort(entry.fields.begin(),
                     entry.fields.end(),
                     [](const KeyValue& a, const KeyValue& b) { return a.key < b.key; });
    to.entries.push_back(std::move(entry));
  }

  /// A field's value as one text; lists and maps as YAML would write them in one line.
  // NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
  static std::string flat(const YamlNode& node) {
    if (node.is_scalar()) return node.scalar;
    if (node.is_null()) return "null";
    std::string text;
    for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + flat(item);
    for (const YamlEntry& entry : node.entries)
      text += (text.empty() ? "" : ", ") + entry.key + ": " + flat(entry.value);
    return node.is_map() ? "{" + text + "}" : "[" + text + "]";
  }

  void read_environments(const YamlNode& list, GroupDeclaration& group) {
    if (!list.is_sequence())
      return wrong(ErrorKind::EnvVarsNotList,
                   GroupPart::Env,
                   list,
                   "env_configs ",
                   "a list of mappings",
                   "write - before node_ranks");
    for (const YamlNode& item : list.items) read_environment(item, group);
  }

  void read_environment(const YamlNode& node, GroupDeclaration& group) {
    if (!node.is_map())
      return wrong(ErrorKind::EnvVarNotMapping,
                   GroupPart::Env,
                   node,
                   "an entry of env_configs that is ",
                   "a mapping with node_ranks",
                   "write for example - {node_ranks: 0, env_vars: [{NAME: value}]}");
    const std::string subject = subject_ + " env_configs";
    if (!check_fields(reading_, node, subject, step(GroupPart::Env), kEnvFields, kEnvRequired))
      sound_ = false;
    placement::GroupEnvironment environment;
    environment.at = place_of(node);
    const YamlNode* node_ranks = value_of(node, "node_ranks");
    if (node_ranks != nullptr) environment.node_ranks = ranks(*node_ranks, subject);
    if (const YamlNode* list = value_of(node, "env_vars")) read_variables(*list, environment);
    if (const YamlNode* path = value_of(node, "python_interpreter_path")) {
      environment.interpreter = path->scalar;
      if (!path->is_scalar())
        reading_.fail(place_of(*path),
                      {subject,
                       "python_interpreter_path " + describe(*path),
                       "a path",
                       "write for example /opt/venv/bin/python3"});
    }
    if (node_ranks != nullptr) group.environments.push_back(std::move(environment));
  }

  void read_variables(const YamlNode& list, placement::GroupEnvironment& to) {
    if (!list.is_sequence())
      return wrong(ErrorKind::EnvVarsNotList,
                   GroupPart::Env,
                   list,
                   "env_vars ",
                   "a list of mappings of one pair",
                   "write - before each variable");
    for (const YamlNode& item : list.items) {
      if (!item.is_map()) {
        wrong(ErrorKind::EnvVarNotMapping,
              GroupPart::Env,
              item,
              "a variable that is ",
              "a mapping of one pair",
              "write for example - NAME: value");
        continue;
      }
      const bool single = item.entries.size() == 1;
      const bool text = single && (item.entries.front().value.is_scalar() ||
                                   item.entries.front().value.is_null());
      if (!text) {
        reading_.fail(ErrorKind::EnvVarNotSinglePair,
                      step(GroupPart::Env),
                      place_of(item),
                      {subject_,
                       single ? "a variable whose value is " + describe(item.entries.front().value)
                              : "a variable of " + std::to_string(item.entries.size()) + " pairs",
                       "exactly one pair of a name and a text",
                       "write one - NAME: value a variable"});
        sound_ = false;
        continue;
      }
      const YamlEntry& pair = item.entries.front();
      to.variables.push_back({pair.key, pair.value.scalar});
      to.variables_at.push_back(place_of(pair.key_start));
    }
  }

  DocumentReading& reading_;
  const YamlNode& node_;
  std::int32_t index_;
  std::string subject_;
  placement::PlacedText label_;
  bool sound_ = true;
};

}  // namespace

DocumentGroups read_document_groups(const DocumentParts& parts, DocumentReading& reading) {
  DocumentGroups groups;
  const YamlNode* list = parts.find("node_groups");
  if (list == nullptr || list->is_null()) return groups;
  if (!list->is_sequence()) {
    reading.fail(ErrorKind::NodeGroupNotMapping,
                 {GroupPhase::Fields, 0, {}},
                 place_of(*list),
                 {"cluster.node_groups",
                  describe(*list),
                  "a list of mappings",
                  "write - before each label"});
    return groups;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const YamlNode& node = list->items[i];
    groups.starts.push_back(place_of(node));
    GroupReader reader(reading, node, static_cast<std::int32_t>(i));
    const bool fields = reader.check();
    if (auto group = reader.read()) groups.declared.push_back(*std::move(group));
    if ((!fields || !reader.sound()) && !reader.label().empty())
      groups.broken.push_back(reader.label());
  }
  return groups;
}

}  // namespace orrery::scenarios
