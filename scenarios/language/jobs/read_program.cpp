// What a role runs: command, environment, volumes, working directory, image, isolation; and the
// sub-masters of roles, which run programs of their own.
#include <string>
#include <string_view>
#include <utility>

#include "core/job/volume_text.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

/// A text runs under a shell, a list as it is.
void read_command(const MapReader& reader, std::string_view key, std::vector<std::string>& to) {
  const YamlNode* command = reader.find(key);
  if (command != nullptr && command->is_scalar())
    to = {"/bin/sh", "-c", command->scalar};
  else
    reader.read_texts(key, to);
  if (command == nullptr || to.empty()) return;
  const std::string& program = command->is_scalar() ? command->scalar : to.front();
  if (program.find_first_not_of(" \t\r\n") == program.npos)
    reader.fail(key,
                "names no program, one is needed; write for example " + std::string(key) +
                    ": [python3, train.py]");
}

void read_isolation(const MapReader& role, IsolationSpec& to) {
  const YamlNode* node = role.find("isolation");
  if (node == nullptr) return;
  const MapReader reader(
      role.reading(), *node, section("jobs.roles.isolation"), role.subject_of("isolation"));
  reader.read_text("key", to.key);
  const YamlNode* key = reader.find("key");
  if (to.key.empty() && (key == nullptr || key->is_scalar()))
    reader.missing("key", "isolation: {key: torch-2}");
  read_command(reader, "prepare", to.prepare);
  reader.read_text("interpreter", to.interpreter);
  reader.read_duration("deadline", to.prepare_deadline);
  // Without a key nothing else is judged twice.
  if (to.key.empty()) to = IsolationSpec{};
}

/// Whether a volume has the form that agents take; what has no target is mounted nowhere. Of agents
/// a target may hold a colon, which here is most likely a word that is not known.
bool is_volume(const std::string& text) {
  const VolumeText volume = parse_volume(text);
  if (!has_sound_source(volume) || text.find(':') == text.npos) return false;
  if (volume.target.empty()) return !volume.in_memory;
  return has_sound_target(volume) && volume.target.find(':') == text.npos;
}

void read_volumes(const MapReader& reader, std::vector<std::string>& to) {
  reader.read_texts("volumes", to);
  const YamlNode* list = reader.find("volumes");
  if (list == nullptr || !list->is_sequence()) return;
  for (const YamlNode& item : list->items)
    if (item.is_scalar() && !is_volume(item.scalar))
      reader.reading().fail(item.origin,
                            reader.subject_of("volumes"),
                            found_instead(item,
                                          "source:target or name:target:memory",
                                          "the source is an absolute path or the name of a folder "
                                          "of the job, the target has no \"..\""));
}

/// The role whose only worker leads the recovery of role `index`. It takes no device.
RoleSpec sub_master_of_role(const JobSpec& spec, std::size_t index) {
  RoleSpec master;
  master.name = spec.roles[index].name + "-master";
  master.completion = Completion::Follower;
  master.bundle = {MilliCpu{1000}, Bytes{std::int64_t{1} << 30}, 0, Share{}, ""};
  master.master_of = RoleIndex{static_cast<std::uint16_t>(index)};
  return master;
}

}  // namespace

void read_texts_by_name(const MapReader& reader,
                        std::string_view key,
                        std::vector<KeyValue>& texts) {
  const YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  if (!node->is_map()) {
    reader.fail(key, found_instead(*node, "a map", "write NAME: value lines under it"));
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    if (entry.value.is_scalar() || entry.value.is_null())
      texts.push_back({entry.key, entry.value.scalar});
    else
      reader.reading().fail(entry.value.origin,
                            reader.subject_of(key) + "." + entry.key,
                            found_instead(entry.value, "a text", "write it on one line"));
  }
}

void read_program(const MapReader& reader, RoleSpec& role) {
  read_command(reader, "command", role.command);
  read_texts_by_name(reader, "env", role.environment);
  read_volumes(reader, role.volumes);
  reader.read_text("working_directory", role.working_directory);
  reader.read_text("image", role.image);
  read_isolation(reader, role.isolation);
}

std::optional<RoleSpec> read_sub_master(const MapReader& role) {
  const YamlNode* node = role.find("sub_master");
  if (node == nullptr) return std::nullopt;
  RoleSpec program;
  if (node->is_map()) {
    read_program(
        MapReader(
            role.reading(), *node, section("jobs.roles.sub_master"), role.subject_of("sub_master")),
        program);
    return program;
  }
  bool wanted = false;
  role.read_bool("sub_master", wanted);
  return wanted ? std::optional(std::move(program)) : std::nullopt;
}

void add_sub_masters(std::vector<LedRole> led, JobSpec& spec) {
  for (LedRole& each : led) {
    RoleSpec master = sub_master_of_role(spec, each.index);
    master.command = std::move(each.program.command);
    master.environment = std::move(each.program.environment);
    master.volumes = std::move(each.program.volumes);
    master.working_directory = std::move(each.program.working_directory);
    master.image = std::move(each.program.image);
    master.isolation = std::move(each.program.isolation);
    spec.roles.push_back(std::move(master));
  }
}

}  // namespace orrery::scenarios
