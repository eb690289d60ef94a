// Time of forming virtual clusters on 16,384 nodes of 8 devices, half of them partly taken, 16
// nodes to an NVLink domain.

#include <benchmark/benchmark.h>

#include "core/base/random.hpp"
#include "core/vcluster/form.hpp"

namespace orrery::vcluster {
namespace {

constexpr std::uint32_t kNodes = 16'384;
constexpr std::int32_t kDomain = 16;

std::vector<NodeOffer> make_offers() {
  Random random(1);
  std::vector<NodeOffer> offers;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    NodeOffer offer;
    offer.node = NodeId{i};
    offer.all_devices = 0xff;
    offer.free_devices = random.chance(0.5) ? 0xff : random.bits() & 0xff;
    offer.model = DeviceModelId{0};
    offer.cpu_total = offer.cpu_free = MilliCpu{192'000};
    offer.memory_total = offer.memory_free = Bytes{std::int64_t{2048} << 30};
    offer.nvlink_domain = static_cast<std::int32_t>(i) / kDomain;
    offer.rack = static_cast<std::int32_t>(i) / 64;
    offers.push_back(offer);
  }
  return offers;
}

VirtualClusterSpec make_spec(const char* name,
                             std::int32_t logical_nodes,
                             std::int32_t bundles,
                             BundleStrategy strategy) {
  VirtualClusterSpec spec;
  spec.name = name;
  spec.bundles_per_node.assign(static_cast<std::size_t>(logical_nodes), bundles);
  spec.cpu_per_bundle = MilliCpu{4'000};
  spec.memory_per_bundle = Bytes{std::int64_t{32} << 30};
  spec.strategy = strategy;
  return spec;
}

void measure(benchmark::State& state,
             const std::vector<VirtualClusterSpec>& specs,
             Outcome wanted,
             bool tries_only = false) {
  static const std::vector<NodeOffer> offers = make_offers();
  std::vector<BundleRequest> requests;
  for (const VirtualClusterSpec& spec : specs) requests.push_back({&spec, DeviceModelId::none()});
  for (auto _ : state) {
    const Forming got = tries_only ? try_form(offers, requests) : form(offers, requests);
    if (got.outcome != wanted) state.SkipWithError("another outcome than was meant");
    benchmark::DoNotOptimize(got);
  }
}

void one_node(benchmark::State& state) {
  measure(state, {make_spec("train", 1, 8, BundleStrategy::Pack)}, Outcome::Formed);
}

void whole_nodes(benchmark::State& state) {
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  measure(state, {make_spec("train", nodes, 8, BundleStrategy::StrictSpread)}, Outcome::Formed);
}

void packed_quarters(benchmark::State& state) {
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  measure(state, {make_spec("train", nodes, 2, BundleStrategy::Pack)}, Outcome::Formed);
}

void segments(benchmark::State& state) {
  VirtualClusterSpec spec = make_spec(
      "train", static_cast<std::int32_t>(state.range(0)), 8, BundleStrategy::StrictSpread);
  spec.segment_by = SegmentBy::NvlinkDomain;
  spec.segment_size = 4;
  measure(state, {spec}, Outcome::Formed);
}

void unified_spread(benchmark::State& state) {
  VirtualClusterSpec spec =
      make_spec("train", 1, static_cast<std::int32_t>(state.range(0)), BundleStrategy::Spread);
  spec.unified = true;
  measure(state, {spec}, Outcome::Formed);
}

void train_and_generation(benchmark::State& state) {
  const auto nodes = static_cast<std::int32_t>(state.range(0));
  measure(state,
          {make_spec("train", nodes, 8, BundleStrategy::StrictSpread),
           make_spec("gen", nodes, 4, BundleStrategy::Pack)},
          Outcome::Formed);
}

void two_sizes(benchmark::State& state) {
  VirtualClusterSpec spec =
      make_spec("train", static_cast<std::int32_t>(state.range(0)), 8, BundleStrategy::Pack);
  for (std::size_t i = 0; i < spec.bundles_per_node.size(); i += 2) spec.bundles_per_node[i] = 4;
  measure(state, {spec}, Outcome::Formed);
}

void waits(benchmark::State& state) {
  VirtualClusterSpec spec = make_spec("train", 16, 8, BundleStrategy::StrictSpread);
  spec.segment_by = SegmentBy::NvlinkDomain;
  measure(state, {spec}, Outcome::Waiting, state.range(0) == 0);
}

void waits_together(benchmark::State& state) {
  measure(state,
          {make_spec("train", 6'000, 8, BundleStrategy::Pack),
           make_spec("gen", 6'000, 8, BundleStrategy::Pack)},
          Outcome::Waiting,
          true);
}

BENCHMARK(one_node)->Unit(benchmark::kMicrosecond);
BENCHMARK(whole_nodes)->Arg(64)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(packed_quarters)->Arg(64)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(segments)->Arg(64)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(unified_spread)->Arg(64)->Arg(16'384)->Unit(benchmark::kMicrosecond);
BENCHMARK(train_and_generation)->Arg(64)->Arg(2048)->Unit(benchmark::kMicrosecond);
BENCHMARK(two_sizes)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(waits)->ArgName("with_reason")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK(waits_together)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orrery::vcluster

BENCHMARK_MAIN();
