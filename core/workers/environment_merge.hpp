// Several sources of environment variables become one list.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/job/spec.hpp"

namespace orrery::workers {

/// Where a variable comes from; a later source wins.
enum class Layer : std::uint8_t {
  Default,    ///< What a family's workers have unless another layer sets it.
  Node,       ///< The environment of the node's own daemon.
  Driver,     ///< That of the user that submitted the job.
  Suggested,  ///< Chosen for this worker, unless its user says otherwise.
  User,       ///< Written in the job.
  NodeGroup,  ///< Written for the nodes of a group.
  Computed,   ///< What the worker is: ranks, devices, addresses.
  Override,   ///< What the worker's own configuration demands.
};

/// What is done with variables that are lists of paths.
enum class PathMerge : std::uint8_t {
  Append,    ///< A later list is put in front of an earlier one; each entry stays once.
  Override,  ///< A later list replaces an earlier one.
};

/// Why a variable does not have the value that a layer gave it.
enum class NoteKind : std::uint8_t {
  BadName,     ///< No variable can be called that, or hold that value; it is left out.
  Reserved,    ///< Only Computed may give it; it was taken out.
  Overridden,  ///< Override changed what was computed.
  BadMode,     ///< Neither `append` nor `override`; `append` was taken.
};

}  // namespace orrery::workers

namespace orrery {

template <>
struct EnumNames<workers::Layer> {
  static constexpr std::array kNames{
      "default", "node", "driver", "suggested", "user", "node group", "computed", "override"};
};

template <>
struct EnumNames<workers::PathMerge> {
  static constexpr std::array kNames{"append", "override"};
};

}  // namespace orrery

namespace orrery::workers {

/// One note for the author of the variable.
struct EnvironmentNote {
  NoteKind kind = NoteKind::Reserved;
  Layer layer = Layer::User;  ///< Whose value does not hold.
  std::string name;
  std::string found;  ///< The value given there.
  std::string used;   ///< The value that holds; empty also where there is none.

  /// "user variable RANK: found '7', used '0': it is computed; leave it out".
  std::string message() const;

  friend bool operator==(const EnvironmentNote&, const EnvironmentNote&) = default;
};

/// One variable by layer.
struct LayerEntry {
  Layer layer = Layer::User;
  KeyValue variable;
};

/// What is merged.
struct EnvironmentInput {
  std::vector<LayerEntry> entries;         ///< In any order; of one layer and name the last holds.
  std::vector<std::string_view> reserved;  ///< Only Computed and Override may give these.
  std::vector<std::string_view> kept_out;  ///< Prefixes that Node and Driver may not hand down.
};

/// What comes out.
struct WorkerEnvironment {
  std::vector<KeyValue> variables;     ///< Ascending by name, each once.
  std::vector<EnvironmentNote> notes;  ///< By layer, then by name.

  /// The value of a variable; null where there is none.
  const std::string* find(std::string_view name) const;
};

/// Variables that hold paths separated by ':'.
bool is_path_list(std::string_view name);

/// The variable by which RLinf's users choose the PathMerge.
inline constexpr std::string_view kPathModeVariable = "RLINF_PATH_ENV_MERGE_MODE";

/// Merges all layers. How lists of paths are merged is what kPathModeVariable says after all
/// layers, else `append`. Values of `reserved` names from Node and Driver are dropped without a
/// word: they come from the shell that started the daemon; those from User and NodeGroup are
/// dropped with a note, unless they are what is computed anyway.
WorkerEnvironment merge_environment(const EnvironmentInput& input);

/// `front` before `back`, without empty entries, each entry at its first place.
std::string joined_paths(std::string_view front, std::string_view back);

}  // namespace orrery::workers
