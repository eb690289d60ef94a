#include "sim/import/batsim_work.hpp"

#include <algorithm>
#include <utility>

#include "sim/import/program_time.hpp"

namespace orrery::sim {
namespace {

using scenarios::ProgramStage;
using scenarios::RankPattern;
using Stages = std::vector<ProgramStage>;

constexpr std::size_t kSequenceDepthMax = 32;

// Transfers of one program, repetitions written out.
constexpr std::size_t kTransfersMax = 4'000'000;

std::size_t transfers_in(const Stages& stages, std::size_t from) {
  std::size_t sum = 0;
  for (std::size_t i = from; i < stages.size(); ++i) sum += stages[i].transfers.size();
  return sum;
}

std::string too_long() {
  return "comes to more than " + std::to_string(kBatsimStagesMax) +
         " stages, fewer are needed; lower the repeat of inner sequences";
}

std::string too_much_traffic() {
  return "comes to more than " + std::to_string(kTransfersMax) +
         " transfers, fewer are needed; lower the repeat of inner sequences";
}

std::string append_parallel(const BatsimParallel& task, std::int32_t hosts, Stages& stages) {
  if (task.hosts() != static_cast<std::size_t>(hosts))
    return "is for " + std::to_string(task.hosts()) + " hosts, but the job has " +
           std::to_string(hosts) + "; give the job a profile of its size";
  ProgramStage stage;
  stage.flops = task.cpu;
  for (std::int32_t from = 0; from < hosts && !task.com.empty(); ++from)
    for (std::int32_t to = 0; to < hosts; ++to) {
      const double bytes = task.com[static_cast<std::size_t>(from) * hosts + to];
      if (from != to && bytes > 0) stage.transfers.push_back({from, to, bytes});
    }
  if (!stage.transfers.empty()) stage.pattern = RankPattern::Transfers;
  stages.push_back(std::move(stage));
  return {};
}

void append_homogeneous(const BatsimHomogeneous& task, std::int32_t hosts, Stages& stages) {
  const double n = std::max(1, hosts);
  ProgramStage stage;
  double com = task.com;
  double cpu = task.cpu;
  if (task.spread != BatsimSpread::EachValue) cpu /= n;
  if (task.spread == BatsimSpread::Uniform) com = n > 1 ? com / (n * (n - 1)) : 0;
  if (task.spread == BatsimSpread::EachHost) com /= n;
  if (cpu > 0) stage.flops = {cpu};
  if (com > 0 && hosts > 1) {
    stage.pattern = RankPattern::AllToAll;
    stage.bytes = com;
  }
  stages.push_back(std::move(stage));
}

void append_storage(const BatsimStorage& task, std::int32_t hosts, Stages& stages) {
  const double share = task.spread ? std::max(1, hosts) : 1;
  ProgramStage stage;
  for (std::int32_t rank = 0; rank < hosts; ++rank) {
    if (task.read > 0) stage.transfers.push_back({-1, rank, task.read / share});
    if (task.write > 0) stage.transfers.push_back({rank, -1, task.write / share});
  }
  if (!stage.transfers.empty()) stage.pattern = RankPattern::Transfers;
  stages.push_back(std::move(stage));
}

/// Whether the profile, or a part of it, is of the type `T`. Of a profile that was built: its
/// stages bound the walk.
template <class T>
bool holds(const BatsimFile& file, const BatsimProfile& profile) {
  if (std::holds_alternative<T>(profile.what)) return true;
  const auto* sequence = std::get_if<BatsimSequence>(&profile.what);
  if (sequence == nullptr) return false;
  return std::any_of(sequence->parts.begin(), sequence->parts.end(), [&](std::uint32_t part) {
    return holds<T>(file, file.profiles[part]);
  });
}

bool is_only_time(const Stages& stages) {
  return std::all_of(stages.begin(), stages.end(), [](const ProgramStage& stage) {
    return stage.flops.empty() && stage.transfers.empty() && stage.pattern == RankPattern::None;
  });
}

}  // namespace

// Both storages are the cluster's one, whose bandwidth is what the bytes go through.
ProgramStage BatsimWorkBuilder::staging(const BatsimStaging& profile) const {
  ProgramStage stage;
  if (options_.network.storage_bandwidth > 0)
    stage.seconds = profile.bytes / options_.network.storage_bandwidth;
  return stage;
}

std::string BatsimWorkBuilder::append_sequence(const BatsimSequence& sequence,
                                               std::int64_t repeat,
                                               std::int32_t hosts,
                                               std::size_t depth,
                                               Stages& stages) const {
  if (depth > kSequenceDepthMax)
    return "holds sequences more than " + std::to_string(kSequenceDepthMax) +
           " deep, or holds itself, which never ends; take it apart";
  const std::size_t begin = stages.size();
  std::size_t transfers = 0;
  for (const std::uint32_t part : sequence.parts) {
    const std::size_t from = stages.size();
    std::string wrong = append(file_.profiles[part], hosts, depth + 1, stages);
    if (!wrong.empty()) return wrong;
    transfers += transfers_in(stages, from);
    if (transfers > kTransfersMax) return too_much_traffic();
  }
  const std::size_t once = stages.size() - begin;
  if (once > kBatsimStagesMax ||
      static_cast<std::uint64_t>(repeat) > kBatsimStagesMax / std::max<std::size_t>(1, once))
    return too_long();
  if (transfers * static_cast<std::size_t>(repeat) > kTransfersMax) return too_much_traffic();
  stages.reserve(begin + once * static_cast<std::size_t>(repeat));
  for (std::int64_t turn = 1; turn < repeat; ++turn)
    for (std::size_t i = 0; i < once; ++i) stages.push_back(ProgramStage(stages[begin + i]));
  return stages.size() > kBatsimStagesMax ? too_long() : std::string();
}

std::string BatsimWorkBuilder::append(const BatsimProfile& profile,
                                      std::int32_t hosts,
                                      std::size_t depth,
                                      Stages& stages) const {
  if (const auto* delay = std::get_if<BatsimDelay>(&profile.what)) {
    ProgramStage stage;
    stage.seconds = delay->seconds;
    stages.push_back(std::move(stage));
  } else if (const auto* task = std::get_if<BatsimParallel>(&profile.what)) {
    return append_parallel(*task, hosts, stages);
  } else if (const auto* same = std::get_if<BatsimHomogeneous>(&profile.what)) {
    append_homogeneous(*same, hosts, stages);
  } else if (const auto* sequence = std::get_if<BatsimSequence>(&profile.what)) {
    return append_sequence(*sequence, sequence->repeat, hosts, depth, stages);
  } else if (const auto* storage = std::get_if<BatsimStorage>(&profile.what)) {
    append_storage(*storage, hosts, stages);
  } else if (const auto* moved = std::get_if<BatsimStaging>(&profile.what)) {
    stages.push_back(staging(*moved));
  } else if (const auto* foreign = std::get_if<BatsimForeign>(&profile.what)) {
    return "is " + foreign->what +
           ", which only Batsim can run; give the job a delay, a parallel task or a sequence of "
           "them";
  }
  return stages.size() > kBatsimStagesMax ? too_long() : std::string();
}

// Operations become seconds where the speed is known here; the platform's own wait for the world.
std::string BatsimWorkBuilder::give_speed(Stages& stages) const {
  for (ProgramStage& stage : stages) {
    if (stage.flops.empty()) continue;
    const double most = *std::max_element(stage.flops.begin(), stage.flops.end());
    if (most <= 0) {
      stage.flops.clear();
    } else if (options_.flops > 0) {
      stage.seconds += most / options_.flops;
      stage.flops.clear();
    } else if (options_.network.topology != scenarios::NetworkTopology::Platform) {
      return "computes in floating point operations, and nothing says how many a host does in a "
             "second; add host_flops to the workload, for example host_flops: 1e9, or name a "
             "platform file";
    }
  }
  return {};
}

std::string BatsimWorkBuilder::build(const BatsimProfile& profile,
                                     std::int32_t hosts,
                                     BatsimWork& work) const {
  Stages stages;
  double rounds = 1;
  std::string wrong;
  // The outermost repetition is the rounds of the program.
  if (const auto* sequence = std::get_if<BatsimSequence>(&profile.what)) {
    rounds = static_cast<double>(sequence->repeat);
    wrong = append_sequence(*sequence, 1, hosts, 0, stages);
  } else {
    wrong = append(profile, hosts, 0, stages);
  }
  if (wrong.empty()) wrong = give_speed(stages);
  if (!wrong.empty()) return wrong;
  work.exit_code = profile.exit_code;
  work.has_parallel_tasks =
      holds<BatsimParallel>(file_, profile) || holds<BatsimHomogeneous>(file_, profile);
  work.has_storage = holds<BatsimStorage>(file_, profile);
  work.has_staging = holds<BatsimStaging>(file_, profile);
  scenarios::Program program{std::move(stages)};
  const double round_s = program_alone_s(program, hosts, options_.network, 0);
  work.alone_s = std::max(kLeastSeconds, round_s * rounds);
  if (is_only_time(program.stages)) {
    work.units = work.alone_s;
    return {};
  }
  work.units = rounds;
  auto traffic = std::make_shared<scenarios::TrafficSpec>();
  traffic->programs_from = std::max(1, hosts);
  traffic->programs.push_back(std::move(program));
  work.traffic = std::move(traffic);
  return {};
}

}  // namespace orrery::sim
