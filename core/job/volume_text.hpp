// Volumes as the specification of a role writes them: "source:target".
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// The parts of one.
struct VolumeText {
  std::string source;
  std::string target;      ///< Absolute, or relative to the worker's own folder; empty: none.
  bool of_job = false;     ///< `source` is a name: of a folder of the job on its node.
  bool in_memory = false;  ///< Of the job, and wanted as a tmpfs: "name:target:memory".
};

VolumeText parse_volume(std::string_view text);

/// Whether the source is an absolute path or the name of a folder of the job. Such a name is no
/// path, and no way out of where it lies.
bool has_sound_source(const VolumeText& volume);

/// Whether there is a target, and no component of it is "..".
bool has_sound_target(const VolumeText& volume);

}  // namespace orrery
