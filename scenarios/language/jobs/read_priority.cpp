// Priorities by name: the classes that a cluster declares, and what jobs write.
#include <algorithm>
#include <string>
#include <string_view>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::size_t kClassesMax = 100;

const PriorityClass* find(const std::vector<PriorityClass>& classes, std::string_view name) {
  const auto found = std::find_if(
      classes.begin(), classes.end(), [&](const PriorityClass& each) { return each.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

/// The priority of the class that is named, or of `normal` where none is or only a controller knows
/// it; false where what is written is no class.
bool read_class(const MapReader& reader, std::int32_t& priority) {
  const YamlNode* node = reader.find("priority");
  const std::string_view name =
      node == nullptr ? "normal" : (node->is_scalar() ? std::string_view(node->scalar) : "");
  const PriorityClass* const named = find(reader.reading().priority_classes(), name);
  if (named != nullptr) {
    priority = named->priority;
    return true;
  }
  if (!reader.reading().takes_other_priority_classes() || !is_priority_class_name(name))
    return false;
  reader.reading().note_other_priority_class();
  priority = find(reader.reading().priority_classes(), "normal")->priority;
  return true;
}

/// Reports what is written under `priority`; a class, or what `or_else` says, is needed.
void fail_class(const MapReader& reader, const std::string& or_else) {
  constexpr std::size_t kNamedAtMost = 10;
  const std::vector<PriorityClass>& classes = reader.reading().priority_classes();
  std::string names;
  for (std::size_t i = 0; i < std::min(classes.size(), kNamedAtMost); ++i)
    names += (i == 0 ? "" : ", ") + classes[i].name;
  if (classes.size() > kNamedAtMost) names += " and so on";
  reader.fail("priority",
              found_instead(*reader.find("priority"),
                            "one of " + names + or_else,
                            "higher goes first, and priority_classes adds names"));
}

}  // namespace

void read_priority_classes(const MapReader& top, std::vector<PriorityClass>& classes) {
  const YamlNode* node = top.find("priority_classes");
  if (node == nullptr) return;
  if (!node->is_map() || node->entries.size() > kClassesMax) {
    top.fail("priority_classes",
             node->is_map()
                 ? "has " + std::to_string(node->entries.size()) + " classes, at most " +
                       std::to_string(kClassesMax) + " are possible; remove some"
                 : found_instead(*node, "a map", "write lines like production: 50 under it"));
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    const auto fail = [&](Origin origin, std::string message) {
      top.reading().fail(origin, "priority_classes." + entry.key.substr(0, 63), std::move(message));
    };
    const bool named = is_priority_class_name(entry.key);
    if (!named)
      fail(entry.key_origin,
           "is no name for a class, a letter and up to 62 letters, digits, '-', '_' and '.' behind "
           "it are needed; write for example production: 50");
    else if (find(classes, entry.key) != nullptr)
      fail(entry.key_origin, "stands twice, once is needed; remove one of them");
    const auto value = entry.value.is_scalar() ? parse_integer(entry.value.scalar) : std::nullopt;
    const bool sound = value && *value >= -kPriorityMax && *value <= kPriorityMax;
    if (named && sound) classes.push_back({entry.key, static_cast<std::int32_t>(*value)});
    if (!sound)
      fail(entry.value.origin,
           found_instead(
               entry.value, "a whole number within a million", "higher goes first; normal is 0"));
  }
  top.reading().set_priority_classes(classes);
}

void read_priority(const MapReader& job, std::int32_t& priority) {
  if (read_class(job, priority)) return;
  const YamlNode& node = *job.find("priority");
  const auto value = node.is_scalar() ? parse_integer(node.scalar) : std::nullopt;
  if (value && *value >= -kPriorityMax && *value <= kPriorityMax)
    priority = static_cast<std::int32_t>(*value);
  else
    fail_class(job, " or a whole number within a million");
}

void read_priority_class(const MapReader& spec, std::int32_t& priority) {
  if (!read_class(spec, priority)) fail_class(spec, "");
}

}  // namespace orrery::scenarios
