#include "sim/search/prediction.hpp"

#include <algorithm>
#include <string>

#include "core/base/percentile.hpp"
#include "core/base/random.hpp"
#include "sim/fabric/make_fabric.hpp"
#include "sim/steps/loop_stages.hpp"

namespace orrery::sim {
namespace {

constexpr std::int32_t kSequencesMax = 500'000;  // Drawn, in all turns together;
constexpr std::int32_t kTurnsMin = 4;            // and yet so many turns.
constexpr std::size_t kGroupsKept = 16'000'000;  // Ends that are kept for other candidates.

std::vector<NodeId> node_ids(const RolePlaces& places) { return without_counts(places.nodes()); }

/// Whether all devices of `inner` are devices of `outer`.
bool lies_within(const RolePlaces& inner, const RolePlaces& outer) {
  return std::all_of(inner.runs.begin(), inner.runs.end(), [&](const DeviceRun& run) {
    std::int32_t common = 0;
    for (const DeviceRun& other : outer.runs)
      if (other.node == run.node)
        common += std::max(0,
                           std::min(run.first + run.devices, other.first + other.devices) -
                               std::max(run.first, other.first));
    return common == run.devices;
  });
}

bool have_a_common_node(const RolePlaces& one, const RolePlaces& other) {
  return std::any_of(one.runs.begin(), one.runs.end(), [&](const DeviceRun& a) {
    return std::any_of(
        other.runs.begin(), other.runs.end(), [&](const DeviceRun& b) { return a.node == b.node; });
  });
}

}  // namespace

Result<std::unique_ptr<Predictor>> Predictor::make(const SearchedJob& job, std::int32_t turns) {
  auto fabric = make_ideal_fabric(*job.scenario);
  if (!fabric) return fabric.errors();
  return std::unique_ptr<Predictor>(new Predictor(job, turns, std::move(fabric).value()));
}

Predictor::Predictor(const SearchedJob& job, std::int32_t turns, std::unique_ptr<Fabric> fabric)
    : job_(job), fabric_(std::move(fabric)) {
  const std::int32_t most = std::max(kTurnsMin, kSequencesMax / job.loop->sequences);
  for (std::int32_t turn = 0; turn < std::min(turns, most); ++turn) {
    Random random = Random::stream(job.scenario->seed, "search.lengths." + std::to_string(turn));
    lengths_.push_back(draw_sequences(*job.loop, random));
  }
}

const std::vector<Generated>& Predictor::generated(const RolePlaces& places) {
  const std::size_t groups =
      lengths_.size() * lengths_.front().size() / static_cast<std::size_t>(job_.limits.group);
  if (generated_.size() * groups > kGroupsKept) generated_.clear();
  const auto [found, fresh] = generated_.try_emplace({places.replicas, places.speed});
  if (!fresh) return found->second;
  for (const std::vector<double>& lengths : lengths_) {
    std::vector<double> seconds = lengths;
    for (double& one : seconds) one /= places.speed;
    found->second.push_back(
        generate_groups(seconds, job_.limits.group, places.replicas, job_.loop->concurrent));
  }
  return found->second;
}

double Predictor::part_seconds(const SearchedPart& part, const RolePlaces& places) const {
  const auto& role = job_.roles[static_cast<std::size_t>(part.role)];
  const double speed = places.speed * static_cast<double>(places.replicas) / role.reference;
  switch (part.part) {
    case LoopPart::Generate:
      return 0;
    case LoopPart::Reward:
      return job_.loop->reward.in_seconds() / speed;
    case LoopPart::Inference:
      return job_.loop->inference.in_seconds() / speed;
    case LoopPart::Train:
      return fabric_->step_alone_s(
          loop_train_stage(*job_.loop, job_.scenario->network, places.nodes(), speed));
  }
  return 0;
}

// Replicas on devices that train have the weights there; those beside them, on the same node, take
// them over its own links, and those on other nodes over the network.
double Predictor::weights_seconds(const std::vector<RolePlaces>& places) const {
  const RolePlaces& training = places[static_cast<std::size_t>(job_.parts.back().role)];
  const RolePlaces& generating = places[static_cast<std::size_t>(job_.parts.front().role)];
  Stage stage = loop_weights_stage(*job_.loop, node_ids(training), node_ids(generating));
  if (have_a_common_node(training, generating) && !lies_within(generating, training))
    stage.local_exchange_s =
        static_cast<double>(job_.loop->weights.count) / job_.scenario->network.device_bandwidth;
  return fabric_->step_alone_s(stage);
}

Pipeline Predictor::pipeline_of(const Candidate& candidate,
                                const std::vector<RolePlaces>& places) const {
  Pipeline pipeline;
  pipeline.micro_batches = candidate.micro_batches;
  pipeline.switch_s = job_.limits.switch_time.in_seconds();
  pipeline.handover_s = job_.limits.handover.in_seconds();
  pipeline.weights_s = weights_seconds(places);
  for (const SearchedPart& part : job_.parts) {
    const RolePlaces& own = places[static_cast<std::size_t>(part.role)];
    PipelinePart out{part.role, part_seconds(part, own), 0};
    for (std::size_t other = 0; other < job_.parts.size(); ++other) {
      const std::int32_t role = job_.parts[other].role;
      if (role == part.role || share_devices(own, places[static_cast<std::size_t>(role)]))
        out.beside |= 1U << other;
    }
    pipeline.parts.push_back(out);
  }
  return pipeline;
}

double Predictor::idle_of(const Prediction& prediction,
                          const Pipeline& pipeline,
                          const std::vector<Generated>& turns) const {
  if (prediction.devices == 0 || prediction.step_s <= 0) return 0;
  double busy = 0;
  for (std::size_t p = 0; p < job_.parts.size(); ++p) {
    const auto role = static_cast<std::size_t>(job_.parts[p].role);
    busy += pipeline.parts[p].seconds * prediction.places[role].devices();
  }
  const auto generating = static_cast<std::size_t>(job_.parts.front().role);
  for (const Generated& turn : turns)
    busy +=
        turn.busy_s * prediction.places[generating].devices() / static_cast<double>(turns.size());
  return std::max(0.0, 1 - busy / (prediction.devices * prediction.step_s));
}

std::optional<Prediction> Predictor::predict(const Candidate& candidate) {
  auto places = place_roles(job_, candidate);
  if (!places) return std::nullopt;
  Prediction out;
  out.candidate = candidate;
  out.places = *std::move(places);
  out.devices = devices_held(out.places);
  const Pipeline pipeline = pipeline_of(candidate, out.places);
  const auto& turns = generated(out.places[static_cast<std::size_t>(job_.parts.front().role)]);
  std::vector<double> seconds;
  for (const Generated& turn : turns) {
    const TurnPath path = pipeline_turn(pipeline, turn);
    seconds.push_back(path.seconds());
    out.path += path;
  }
  out.path *= 1 / static_cast<double>(turns.size());
  out.step_s = out.path.seconds();
  out.step_p90_s = percentile_by_selection(seconds, 0.9);
  out.idle = idle_of(out, pipeline, turns);
  return out;
}

}  // namespace orrery::sim
