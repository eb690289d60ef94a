#include "sim/import/batsim_profiles.hpp"

#include <array>
#include <cmath>
#include <string_view>

namespace orrery::sim {
namespace {

constexpr double kAmountMax = 1e300;

enum class Type : std::uint8_t {
  Delay,
  Parallel,
  Homogeneous,
  HomogeneousTotal,
  Sequence,
  Storage,
  Staging,
  Replay,
  Messages,
  Unknown,
};

struct TypeName {
  std::string_view name;
  Type type;
  std::string_view v5;  ///< Empty: this is the name of v5.
};

constexpr std::array kTypes{
    TypeName{"DelayProfile", Type::Delay, ""},
    TypeName{"ParallelTaskProfile", Type::Parallel, ""},
    TypeName{"ParallelTaskHomogeneousProfile", Type::Homogeneous, ""},
    TypeName{"SequentialCompositionProfile", Type::Sequence, ""},
    TypeName{"ParallelTaskOnStorageHomogeneousProfile", Type::Storage, ""},
    TypeName{"ParallelTaskDataStagingBetweenStoragesProfile", Type::Staging, ""},
    TypeName{"TraceReplayProfile", Type::Replay, ""},
    TypeName{"delay", Type::Delay, "DelayProfile"},
    TypeName{"parallel", Type::Parallel, "ParallelTaskProfile"},
    TypeName{"msg_par", Type::Parallel, "ParallelTaskProfile"},
    TypeName{"ptask", Type::Parallel, "ParallelTaskProfile"},
    TypeName{"parallel_homogeneous", Type::Homogeneous, "ParallelTaskHomogeneousProfile"},
    TypeName{"msg_par_hg", Type::Homogeneous, "ParallelTaskHomogeneousProfile"},
    TypeName{"ptask_homogeneous", Type::Homogeneous, "ParallelTaskHomogeneousProfile"},
    TypeName{
        "parallel_homogeneous_total", Type::HomogeneousTotal, "ParallelTaskHomogeneousProfile"},
    TypeName{"msg_par_hg_tot", Type::HomogeneousTotal, "ParallelTaskHomogeneousProfile"},
    TypeName{"composed", Type::Sequence, "SequentialCompositionProfile"},
    TypeName{"sequence", Type::Sequence, "SequentialCompositionProfile"},
    TypeName{"sequential_composition", Type::Sequence, "SequentialCompositionProfile"},
    TypeName{"parallel_homogeneous_pfs", Type::Storage, "ParallelTaskOnStorageHomogeneousProfile"},
    TypeName{"msg_par_hg_pfs", Type::Storage, "ParallelTaskOnStorageHomogeneousProfile"},
    TypeName{
        "ptask_on_storage_homogeneous", Type::Storage, "ParallelTaskOnStorageHomogeneousProfile"},
    TypeName{"data_staging", Type::Staging, "ParallelTaskDataStagingBetweenStoragesProfile"},
    TypeName{"ptask_data_staging_between_storages",
             Type::Staging,
             "ParallelTaskDataStagingBetweenStoragesProfile"},
    TypeName{"smpi", Type::Replay, "TraceReplayProfile"},
    TypeName{"usage", Type::Replay, "TraceReplayProfile"},
    TypeName{"usage_trace", Type::Replay, "TraceReplayProfile"},
    TypeName{"trace_replay", Type::Replay, "TraceReplayProfile"},
    TypeName{"replay_smpi", Type::Replay, "TraceReplayProfile"},
    TypeName{"replay_usage", Type::Replay, "TraceReplayProfile"},
    TypeName{"send", Type::Messages, "none"},
    TypeName{"recv", Type::Messages, "none"},
};

std::string v5_names() {
  std::string names;
  for (const TypeName& type : kTypes)
    if (type.v5.empty()) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

Type read_type(const JsonReader& reader, BatsimNames names, std::vector<std::string>& old_names) {
  if (!reader.has("type")) {
    reader.missing("type", R"("type": "DelayProfile")");
    return Type::Unknown;
  }
  std::string written;
  if (!reader.text("type", written)) return Type::Unknown;
  for (const TypeName& type : kTypes) {
    if (type.name != written) continue;
    if (type.v5.empty()) return type.type;
    if (names == BatsimNames::Strict) {
      reader.fail("type",
                  "is '" + written + "', a name of before v5, needed one of v5; write " +
                      std::string(type.v5) + ", or read the file without strict");
      return Type::Unknown;
    }
    old_names.push_back(written);
    return type.type;
  }
  reader.fail("type",
              "is '" + excerpt(written) + "', needed one of " + v5_names() + "; correct it");
  return Type::Unknown;
}

BatsimDelay read_delay(const JsonReader& reader) {
  BatsimDelay delay;
  if (!reader.has("delay")) reader.missing("delay", "\"delay\": 20.5");
  reader.number("delay", delay.seconds, 0, kBatsimSecondsMax);
  return delay;
}

BatsimParallel read_parallel(const JsonReader& reader) {
  BatsimParallel task;
  if (!reader.has("cpu") && !reader.has("com"))
    reader.missing("cpu", "\"cpu\": [1e9, 1e9], or com");
  const bool computes = reader.numbers("cpu", task.cpu, 0);
  const bool sends = reader.numbers("com", task.com, 0);
  if (computes && task.cpu.empty())
    reader.fail("cpu", "has no item, one for each host is needed; add them or leave cpu out");
  const std::size_t hosts = task.hosts();
  if (sends && hosts * hosts != task.com.size())
    reader.fail("com",
                "has " + std::to_string(task.com.size()) +
                    " items, needed as many rows and columns as there are hosts" +
                    (computes ? " (" + std::to_string(task.cpu.size()) + " by cpu)" : "") +
                    "; correct it");
  return task;
}

BatsimHomogeneous read_homogeneous(const JsonReader& reader, bool total) {
  BatsimHomogeneous task;
  if (!reader.has("cpu") && !reader.has("com")) reader.missing("cpu", "\"cpu\": 1e9, or com");
  reader.number("cpu", task.cpu, 0, kAmountMax);
  reader.number("com", task.com, 0, kAmountMax);
  if (total) task.spread = BatsimSpread::EachHost;
  std::string strategy;
  if (!reader.text("generation_strategy", strategy)) return task;
  if (strategy == "DefinedAmountsSpreadUniformly" || strategy == "defined_amount_spread_uniformly")
    task.spread = BatsimSpread::Uniform;
  else if (strategy == "DefinedAmountsUsedForEachValue" ||
           strategy == "defined_amount_used_for_each_value")
    task.spread = BatsimSpread::EachValue;
  else
    reader.fail("generation_strategy",
                "is '" + excerpt(strategy) +
                    "', needed DefinedAmountsUsedForEachValue or DefinedAmountsSpreadUniformly; "
                    "choose one");
  return task;
}

BatsimSequence read_sequence(const JsonReader& reader) {
  BatsimSequence sequence;
  reader.integer(reader.has("repeat") ? "repeat" : "nb", sequence.repeat, 1, 1'000'000'000);
  if (reader.items("seq").empty())
    reader.fail("seq", "names no profile, at least one is needed; add for example [\"compute\"]");
  for (const JsonNode& part : reader.items("seq")) {
    if (part.is(JsonKind::Text)) {
      sequence.names.push_back(part.text);
    } else {
      reader.errors().add(part.line,
                          reader.subject() + ": seq",
                          instead_of(part, "the name of a profile", "put it in quotes"));
    }
  }
  return sequence;
}

BatsimStorage read_storage(const JsonReader& reader) {
  BatsimStorage storage;
  if (!reader.has("bytes_to_read") && !reader.has("bytes_to_write"))
    reader.missing("bytes_to_read", "\"bytes_to_read\": 1e9, or bytes_to_write");
  reader.number("bytes_to_read", storage.read, 0, kAmountMax);
  reader.number("bytes_to_write", storage.write, 0, kAmountMax);
  reader.text(reader.has("storage") ? "storage" : "host", storage.storage);
  std::string strategy;
  reader.text("generation_strategy", strategy);
  storage.spread =
      strategy == "DefinedAmountsSpreadUniformly" || strategy == "defined_amount_spread_uniformly";
  return storage;
}

BatsimStaging read_staging(const JsonReader& reader) {
  BatsimStaging staging;
  if (!reader.has("nb_bytes")) reader.missing("nb_bytes", "\"nb_bytes\": 1e9");
  reader.number("nb_bytes", staging.bytes, 0, kAmountMax);
  reader.text("from", staging.from);
  reader.text("to", staging.to);
  return staging;
}

}  // namespace

std::size_t BatsimParallel::hosts() const {
  if (!cpu.empty()) return cpu.size();
  auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(com.size())));
  while (side * side < com.size()) ++side;
  return side;
}

BatsimProfile read_batsim_profile(const std::string& name,
                                  const JsonNode& node,
                                  BatsimNames names,
                                  std::vector<std::string>& old_names,
                                  FileErrors& errors) {
  BatsimProfile profile;
  profile.name = name;
  profile.line = node.line;
  const JsonReader reader(node, "profile " + excerpt(name), errors);
  if (!node.is(JsonKind::Object)) return profile;
  std::int64_t exit_code = 0;
  reader.integer("ret", exit_code, INT32_MIN, INT32_MAX);
  profile.exit_code = static_cast<std::int32_t>(exit_code);
  switch (read_type(reader, names, old_names)) {
    case Type::Delay:
      profile.what = read_delay(reader);
      break;
    case Type::Parallel:
      profile.what = read_parallel(reader);
      break;
    case Type::Homogeneous:
      profile.what = read_homogeneous(reader, false);
      break;
    case Type::HomogeneousTotal:
      profile.what = read_homogeneous(reader, true);
      break;
    case Type::Sequence:
      profile.what = read_sequence(reader);
      break;
    case Type::Storage:
      profile.what = read_storage(reader);
      break;
    case Type::Staging:
      profile.what = read_staging(reader);
      break;
    case Type::Replay:
      profile.what = BatsimForeign{"a trace replay"};
      break;
    case Type::Messages:
      profile.what = BatsimForeign{"an exchange of messages with Batsim's scheduler"};
      break;
    case Type::Unknown:
      break;
  }
  return profile;
}

}  // namespace orrery::sim
