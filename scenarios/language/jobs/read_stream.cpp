// A loop whose parts go on at once: jobs.work.loop.stream.
#include <algorithm>

#include "core/placement/dynamic_scheduler.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kStreamMax = 100'000;

const RoleSpec* find_role(const JobSpec& spec, const std::string& name) {
  const auto is_it = [&](const RoleSpec& role) { return role.name == name; };
  const auto role = std::find_if(spec.roles.begin(), spec.roles.end(), is_it);
  return role == spec.roles.end() ? nullptr : &*role;
}

/// The parts of a turn that go on at once: what each is called, and its role.
struct StreamPart {
  std::string_view key;
  const RoleSpec* role;
};

std::vector<StreamPart> parts_of(const JobSpec& spec, const LoopSpec& loop) {
  std::vector<StreamPart> parts{{"generate", find_role(spec, loop.generate_role)},
                                {"train", find_role(spec, loop.train_role)}};
  if (!loop.inference_role.empty())
    parts.push_back({"inference", find_role(spec, loop.inference_role)});
  return parts;
}

/// Whether each part has a known role that no other has.
bool check_roles(const MapReader& loop, const std::vector<StreamPart>& parts) {
  bool sound = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].role == nullptr) sound = false;  // Reported where it was read.
    for (std::size_t j = 0; j < i && parts[i].role != nullptr; ++j) {
      if (parts[i].role != parts[j].role) continue;
      sound = false;
      loop.fail(parts[i].key,
                "is of role '" + parts[i].role->name + "', which does the part '" +
                    std::string(parts[j].key) +
                    "' as well, but under 'stream' both go on at once, on devices of their own; "
                    "give each a role");
    }
  }
  return sound;
}

/// Whether groups and minibatches come out even.
bool check_shares(const MapReader& reader, const LoopSpec& loop, const StreamSpec& stream) {
  if (loop.sequences <= 0) return false;
  if (loop.sequences % stream.group != 0) {
    reader.fail("group",
                "is " + std::to_string(stream.group) + ", which does not divide the " +
                    std::to_string(loop.sequences) + " sequences of a turn; change one of them");
    return false;
  }
  const std::int32_t groups = loop.sequences / stream.group;
  if (groups % stream.minibatches == 0) return true;
  reader.fail("minibatches",
              "is " + std::to_string(stream.minibatches) + ", which does not divide the " +
                  std::to_string(groups) + " groups of a turn; change one of them");
  return false;
}

/// Whether the role may pass its devices on.
bool check_movable(const MapReader& loop, const StreamPart& part) {
  const RoleSpec& role = *part.role;
  const std::string begin = "is of role '" + role.name + "', which has ";
  if (role.min_replicas != role.max_replicas) {
    loop.fail(part.key,
              begin + std::to_string(role.min_replicas) + " to " +
                  std::to_string(role.max_replicas) +
                  " replicas, but the dynamic scheduler needs a fixed number; give one");
    return false;
  }
  if (role.bundle.devices > 0 && role.bundle.share.is_whole()) return true;
  loop.fail(part.key,
            begin + (role.bundle.devices == 0 ? "no device" : "parts of devices") +
                ", but the dynamic scheduler moves whole ones; give it gpus: 1 or more");
  return false;
}

placement::ComponentSize size_of(const RoleSpec& role) {
  return {role.min_replicas, role.bundle.devices};
}

void check_sizes(const MapReader& reader,
                 const std::vector<StreamPart>& parts,
                 const LoopSpec& loop,
                 const StreamSpec& stream) {
  placement::DynamicSettings settings;
  settings.rollout = size_of(*parts[0].role);
  settings.actor = size_of(*parts[1].role);
  if (parts.size() > 2) settings.inference = size_of(*parts[2].role);
  settings.groups = loop.sequences / stream.group;
  settings.minibatches = stream.minibatches;
  const auto sizes = placement::valid_actor_sizes(settings);
  if (!std::binary_search(sizes.begin(), sizes.end(), settings.actor.instances)) {
    std::string all;
    for (const std::int32_t size : sizes) all += (all.empty() ? "" : ", ") + std::to_string(size);
    reader.fail("minibatches",
                "is " + std::to_string(stream.minibatches) + ", so that one has " +
                    std::to_string(settings.groups / settings.minibatches) + " groups, which the " +
                    std::to_string(settings.actor.instances) + " replicas of role '" +
                    parts[1].role->name +
                    "' cannot share evenly; give that role a number of replicas among " + all +
                    ", or change minibatches");
  }
  if (!stream.pre_process || settings.actor.devices() % settings.rollout.width == 0) return;
  reader.fail("pre_process",
              "needs the " + std::to_string(settings.actor.devices()) + " devices of role '" +
                  parts[1].role->name + "' to be a whole number of replicas of role '" +
                  parts[0].role->name + "', which have " + std::to_string(settings.rollout.width) +
                  " each; change one of them or write pre_process: false");
}

}  // namespace

void read_stream(const MapReader& loop_reader, const JobSpec& spec, LoopSpec& loop) {
  const YamlNode* node = loop_reader.find("stream");
  if (node == nullptr) return;
  const MapReader reader(loop_reader.reading(),
                         *node,
                         section("jobs.work.loop.stream"),
                         loop_reader.subject_of("stream"));
  if (!node->is_map()) return;
  StreamSpec stream;
  reader.read_enum("scheduler", stream.scheduler);
  reader.read_integer("group", stream.group, 1, kStreamMax);
  reader.read_integer("minibatches", stream.minibatches, 1, kStreamMax);
  reader.read_bool("pre_process", stream.pre_process);
  reader.read_bool("wait_before_last", stream.wait_before_last);
  reader.read_duration("resize", stream.resize);
  reader.read_duration("migrate", stream.migrate);
  const bool is_dynamic = stream.scheduler == StreamScheduler::Dynamic;
  for (std::string_view key : {"pre_process", "wait_before_last", "resize", "migrate"})
    if (!is_dynamic && reader.has(key))
      reader.fail(key,
                  "has no meaning where no device moves; write scheduler: dynamic, or remove it");
  if (loop_reader.has("reward"))
    loop_reader.fail("reward",
                     "stands beside 'stream', whose turns go from generate over inference to "
                     "train; make it the part 'inference' or remove it");
  const auto parts = parts_of(spec, loop);
  bool sound = check_roles(loop_reader, parts);
  sound = check_shares(reader, loop, stream) && sound;
  for (const StreamPart& part : parts)
    if (is_dynamic && part.role != nullptr) sound = check_movable(loop_reader, part) && sound;
  if (is_dynamic && sound) check_sizes(reader, parts, loop, stream);
  loop.stream = stream;
}

}  // namespace orrery::scenarios
