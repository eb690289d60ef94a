#include "core/workers/environment_merge.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace orrery::workers {
namespace {

constexpr std::size_t kLayers = EnumNames<Layer>::kNames.size();

using Variables = std::map<std::string, std::string>;

bool is_variable(const KeyValue& entry) {
  return !entry.key.empty() && entry.key.find('=') == std::string::npos &&
         entry.key.find('\0') == std::string::npos && entry.value.find('\0') == std::string::npos;
}

bool is_inherited(Layer layer) { return layer == Layer::Node || layer == Layer::Driver; }

bool begins_with_any(std::string_view name, const std::vector<std::string_view>& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Variables by layer, without what no layer may give.
struct Layers {
  std::array<Variables, kLayers> variables;
  std::vector<EnvironmentNote> notes;

  Variables& of(Layer layer) { return variables[static_cast<std::size_t>(layer)]; }
};

Layers sorted_out(const EnvironmentInput& input) {
  Layers out;
  for (const auto& [layer, variable] : input.entries) {
    if (!is_variable(variable)) {
      if (!is_inherited(layer))
        out.notes.push_back({NoteKind::BadName, layer, variable.key, variable.value, {}});
    } else if (!is_inherited(layer) || !begins_with_any(variable.key, input.kept_out)) {
      out.of(layer).insert_or_assign(variable.key, variable.value);
    }
  }
  return out;
}

void take_reserved_out(const std::vector<std::string_view>& reserved, Layers& layers) {
  const Variables& computed = layers.of(Layer::Computed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Layer::Computed); ++i) {
    const Layer layer{static_cast<std::uint8_t>(i)};
    std::erase_if(layers.of(layer), [&](const auto& entry) {
      const auto used = computed.find(entry.first);
      const bool is_computed = used != computed.end();
      if (!is_computed && std::ranges::find(reserved, entry.first) == reserved.end()) return false;
      const std::string value = is_computed ? used->second : std::string();
      if ((layer == Layer::User || layer == Layer::NodeGroup) &&
          !(is_computed && value == entry.second))
        layers.notes.push_back({NoteKind::Reserved, layer, entry.first, entry.second, value});
      return true;
    });
  }
}

void note_overrides(Layers& layers) {
  const Variables& overrides = layers.of(Layer::Override);
  for (const auto& [name, value] : layers.of(Layer::Computed)) {
    const auto found = overrides.find(name);
    if (found != overrides.end() && found->second != value)
      layers.notes.push_back({NoteKind::Overridden, Layer::Computed, name, value, found->second});
  }
}

PathMerge path_merge(Layers& layers) {
  const std::string name(kPathModeVariable);
  for (std::size_t i = kLayers; i-- > 0;) {
    const auto found = layers.variables[i].find(name);
    if (found == layers.variables[i].end()) continue;
    if (const auto mode = enum_from<PathMerge>(found->second)) return *mode;
    layers.notes.push_back(
        {NoteKind::BadMode, Layer{static_cast<std::uint8_t>(i)}, name, found->second, "append"});
    found->second = "append";
    return PathMerge::Append;
  }
  return PathMerge::Append;
}

}  // namespace

std::string EnvironmentNote::message() const {
  std::string out(to_string(layer));
  out += " variable " + name + ": found '" + found + "', ";
  switch (kind) {
    case NoteKind::BadName:
      return out + "needed a name without '=' and no zero byte; it is left out, rename it";
    case NoteKind::Reserved:
      return out + "used '" + used + "': it identifies the worker; leave it out";
    case NoteKind::Overridden:
      return out + "used '" + used + "': the worker's own configuration demands it";
    case NoteKind::BadMode:
      return out + "needed append or override; used '" + used + "'";
  }
  return out;
}

const std::string* WorkerEnvironment::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(variables, name, {}, &KeyValue::key);
  return found != variables.end() && found->key == name ? &found->value : nullptr;
}

bool is_path_list(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames{"CMAKE_PREFIX_PATH",
                                                          "CPATH",
                                                          "LD_LIBRARY_PATH",
                                                          "LIBRARY_PATH",
                                                          "PATH",
                                                          "PKG_CONFIG_PATH",
                                                          "PYTHONPATH"};
  return std::ranges::find(kNames, name) != kNames.end();
}

std::string joined_paths(std::string_view front, std::string_view back) {
  std::vector<std::string_view> entries;
  for (std::string_view rest : {front, back}) {
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
      if (!entry.empty() && std::ranges::find(entries, entry) == entries.end())
        entries.push_back(entry);
    }
  }
  std::string out;
  for (const std::string_view entry : entries) out.append(out.empty() ? "" : ":").append(entry);
  return out;
}

WorkerEnvironment merge_environment(const EnvironmentInput& input) {
  Layers layers = sorted_out(input);
  take_reserved_out(input.reserved, layers);
  note_overrides(layers);
  const PathMerge paths = path_merge(layers);
  Variables merged;
  for (const Variables& layer : layers.variables)
    for (const auto& [name, value] : layer) {
      const auto [at, is_new] = merged.try_emplace(name, value);
      if (is_new) continue;
      const bool is_joined = paths == PathMerge::Append && is_path_list(name);
      at->second = is_joined ? joined_paths(value, at->second) : value;
    }
  WorkerEnvironment out;
  out.variables.reserve(merged.size());
  for (auto& [name, value] : merged) out.variables.push_back({name, std::move(value)});
  out.notes = std::move(layers.notes);
  std::ranges::stable_sort(out.notes, {}, [](const EnvironmentNote& note) {
    return std::pair<Layer, std::string_view>(note.layer, note.name);
  });
  return out;
}

}  // namespace orrery::workers
