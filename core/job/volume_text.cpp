#include "core/job/volume_text.hpp"

#include <cstddef>

#include "core/job/check_program.hpp"

namespace orrery {
namespace {

constexpr std::string_view kInMemory = ":memory";
constexpr std::size_t kFolderNameMax = 128;

bool is_folder_name(std::string_view source) {
  return !source.empty() && source.size() <= kFolderNameMax && source.front() != '.' &&
         source.find('/') == std::string_view::npos;
}

}  // namespace

VolumeText parse_volume(std::string_view text) {
  const std::size_t colon = text.find(':');
  VolumeText volume;
  volume.source = text.substr(0, colon);
  if (colon != std::string_view::npos) volume.target = text.substr(colon + 1);
  volume.of_job = is_folder_name(volume.source);
  volume.in_memory = volume.of_job && volume.target.ends_with(kInMemory);
  if (volume.in_memory) volume.target.resize(volume.target.size() - kInMemory.size());
  return volume;
}

bool has_sound_source(const VolumeText& volume) {
  return volume.of_job || volume.source.starts_with('/');
}

bool has_sound_target(const VolumeText& volume) {
  return !volume.target.empty() && is_contained_path(volume.target);
}

}  // namespace orrery
