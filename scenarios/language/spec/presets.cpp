#include "scenarios/language/spec/presets.hpp"

#include <initializer_list>

namespace orrery::scenarios {
namespace {

struct LognormalPart {
  double weight;
  std::int64_t median_s;
  double sigma;
};

DurationDistribution mixture(std::initializer_list<LognormalPart> parts) {
  DurationDistribution distribution;
  for (const LognormalPart& part : parts) {
    distribution.parts.push_back(
        {part.weight, LognormalDuration{Duration::seconds(part.median_s), part.sigma}});
  }
  return distribution;
}

}  // namespace

GeneratorSpec philly_like() {
  const DurationDistribution single =
      mixture({{0.21, 65, 0.25}, {0.24, 2'000, 0.55}, {0.52, 1'200, 1.65}, {0.03, 90'000, 1.15}});
  const DurationDistribution pair =
      mixture({{0.64, 18, 0.35}, {0.18, 44, 1.45}, {0.18, 89'000, 1.25}});
  const DurationDistribution half_node =
      mixture({{0.28, 206, 1.13}, {0.55, 27'750, 1.67}, {0.17, 117'000, 0.43}});
  const DurationDistribution node =
      mixture({{0.32, 514, 1.58}, {0.25, 15'300, 0.78}, {0.43, 198'000, 0.82}});
  const DurationDistribution two_nodes = mixture({{0.4, 246, 1.77}, {0.6, 117'000, 1.14}});
  const DurationDistribution large = mixture({{0.5, 1'500, 1.5}, {0.5, 40'000, 0.5}});

  GeneratorSpec spec;
  spec.duration = single;
  spec.gpu_mix = {{"1 GPU", 1, 76'627, single},
                  {"2 GPUs", 2, 1'818, pair},
                  {"4 GPUs", 4, 1'870, half_node},
                  {"8 GPUs", 8, 1'650, node},
                  {"16 GPUs", 16, 206, two_nodes},
                  {"32 GPUs", 32, 67, large},
                  {"64 GPUs", 64, 6, large},
                  {"128 GPUs", 128, 3, large}};
  spec.arrivals.load = 0.9;
  spec.arrivals.cluster_gpus = 448;
  spec.arrivals.amplitude = 0.29;
  spec.arrivals.peak_at = Duration::seconds(4 * 3600 + 1800);
  return spec;
}

std::optional<GeneratorSpec> preset_by_name(std::string_view name) {
  if (name == "philly-like") return philly_like();
  return std::nullopt;
}

std::vector<std::string_view> preset_names() { return {"philly-like"}; }

}  // namespace orrery::scenarios
