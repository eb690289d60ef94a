// What a search finds.
#include "sim/search/search.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <set>
#include <utility>

#include "core/base/random.hpp"
#include "core/placement/plan.hpp"
#include "sim/search/explanation.hpp"
#include "tests/sim/search/searched_scenarios.hpp"

namespace orrery::sim {
namespace {

using placement::Mode;
using testing::HasSubstr;

struct Found {
  explicit Found(const Searched& searched, const SearchOptions& options = {})
      : scenario(scenario_of(text_of(searched))),
        job(searched_job(scenario, {}).value()),
        result(search_placement(job, options)) {}

  const SearchResult& operator*() const { return result.value(); }

  const Prediction& best() const { return result.value().found.front(); }

  const RolePlaces& best_places(std::size_t role) const { return best().places[role]; }

  std::string refusal() const { return result ? "" : result.errors()[0].text(); }

  scenarios::Scenario scenario;
  SearchedJob job;
  Result<SearchResult> result;
};

constexpr std::size_t kRollout = 0;
constexpr std::size_t kInference = 1;
constexpr std::size_t kActor = 2;

TEST(Search, SharesAllDevicesWherePassingThemOnIsFree) {
  Searched searched;
  searched.search = "{switch: 0s, group: 2, micro_batches: [1]}";
  searched.length = "{median: 500, max: 4000}";
  const Found found(searched);
  EXPECT_EQ(mode_of(found.best().candidate), Mode::Collocated);
  EXPECT_EQ(found.best().devices, 8);
  EXPECT_NEAR(found.best().step_s, 500 / 50.0 + 20 * 2 / 8.0 + 60 / 8.0, 1e-9);
  EXPECT_NEAR(found.best().idle, 0, 1e-9);
}

TEST(Search, KeepsRolesApartWherePassingThemOnIsDear) {
  Searched searched;
  searched.search = "{switch: 300s, group: 2, micro_batches: [1, 8]}";
  const Found found(searched);
  EXPECT_EQ(mode_of(found.best().candidate), Mode::Disaggregated);
  EXPECT_EQ(found.best().candidate.micro_batches, 8);
  EXPECT_EQ(
      largest_increase(found.job, found.best().path, (*found).best_of(Mode::Collocated)->path).name,
      "switch");
}

TEST(Search, KeepsGradientsOnANode) {
  Searched searched;
  searched.cluster = "{nodes: 2, gpus_per_node: 4, gpu: h100, network: {nic_bandwidth: 1GB/s}}";
  searched.traffic = "gradient: 100GB";
  const Found found(searched);
  EXPECT_EQ(found.best_places(kActor).nodes().size(), 1u);
  searched.traffic = "gradient: 0B";
  searched.train = "600s";
  EXPECT_EQ(Found(searched).best_places(kActor).nodes().size(), 2u);
}

TEST(Search, TrainsOnTheFasterNodes) {
  Searched searched;
  searched.cluster =
      "{groups: [{name: slow, nodes: 1, gpus_per_node: 4, gpu: a100}, {name: fast, nodes: 1, "
      "gpus_per_node: 4, gpu: h100}], devices: {a100: {speed: 1}, h100: {speed: 3}}}";
  searched.train = "600s";
  searched.search = "{switch: 500s, group: 2}";
  const Found found(searched);
  ASSERT_EQ(found.best_places(kActor).nodes().size(), 1u);
  EXPECT_EQ(found.best_places(kActor).nodes().front().node, NodeId{1});
  EXPECT_EQ(found.best_places(kActor).speed, 3);
}

TEST(Search, LeavesSlowNodesOut) {
  Searched searched;
  searched.cluster =
      "{groups: [{name: slow, nodes: 1, gpus_per_node: 4, gpu: a100}, {name: fast, nodes: 1, "
      "gpus_per_node: 4, gpu: h100}], devices: {a100: {speed: 0.1}, h100: {speed: 1}}}";
  const Found found(searched);
  for (const RolePlaces& places : found.best().places)
    for (const DeviceRun& run : places.runs) EXPECT_EQ(run.node, 1);
}

TEST(Search, BeginsAPoolAtANodeWhereThatKeepsItOnOneKind) {
  Searched searched;
  searched.cluster =
      "{groups: [{name: slow, nodes: 1, gpus_per_node: 4, gpu: a100}, {name: fast, nodes: 1, "
      "gpus_per_node: 4, gpu: h100}], devices: {a100: {speed: 1}, h100: {speed: 3}}}";
  searched.train = "600s";
  searched.search =
      "{group: 2, replicas: {rollout: 3, inference: 3, actor: 4}, apart: [[rollout, actor], "
      "[inference, actor]]}";
  const Found found(searched);
  EXPECT_EQ(found.best().candidate.layout, PoolLayout::Aligned);
  EXPECT_EQ(placement_text(found.job, found.best_places(kRollout), 1), "0-2:0-2");
  EXPECT_EQ(placement_text(found.job, found.best_places(kActor), 1), "4-7:0-3");
}

TEST(Search, PredictsWhatIsWrittenBesideWhatItFinds) {
  const Found found({});
  ASSERT_TRUE((*found).written);
  EXPECT_GE((*found).written->step_s, found.best().step_s);
  EXPECT_EQ((*found).written->places[kRollout].replicas, 2);
  Searched searched;
  searched.cluster = "{nodes: 1, gpus_per_node: 4, gpu: h100}";
  EXPECT_FALSE((*Found(searched)).written) << "five devices are needed";
}

TEST(Search, TellsTheTailOfAFewTurnsToo) {
  for (const std::int32_t turns : {1, 2, 5}) {
    const Found found({}, {.turns = turns});
    if (turns == 1)
      EXPECT_EQ(found.best().step_p90_s, found.best().step_s);
    else
      EXPECT_GT(found.best().step_p90_s, found.best().step_s) << turns;
  }
}

TEST(Search, PredictsAllReplicasThatAreWritten) {
  const scenarios::Scenario scenario = scenario_of(R"(
name: written
cluster: {nodes: 3, gpus_per_node: 8, gpu: h100}
jobs:
  - name: loop
    roles: {rollout: {replicas: 5, gpus: 1}, actor: {replicas: 3, gpus: 4}}
    work:
      units: 1
      loop:
        generate: {role: rollout, sequences: 64, tokens_per_second: 50, concurrent: 32, length: {median: 500, sigma: 0, max: 8192}}
        train: {role: actor, time: 200s}
)");
  const auto job = searched_job(scenario, {});
  ASSERT_TRUE(job);
  const auto result = search_placement(job.value());
  ASSERT_TRUE(result && result->written);
  // Behind the rollout's five devices, in the order of the file, two of three actors have a node.
  EXPECT_EQ(result->written->places[0].replicas, 5);
  EXPECT_EQ(result->written->places[1].replicas, 3);
  EXPECT_NEAR(result->written->step_s, 10 + 200, 1e-9);
}

TEST(Search, TellsNothingOfWhatIsWrittenWhereItCannotBe) {
  Searched searched;
  searched.cluster = "{nodes: 2, gpus_per_node: 5, gpu: h100}";
  searched.search = "{group: 2, micro_batches: [1], replicas: {rollout: 1, inference: 1}}";
  searched.actor_devices = 4;
  EXPECT_TRUE((*Found(searched)).written) << "the actor begins on the second node";
  searched.actor_devices = 5;
  EXPECT_TRUE((*Found(searched)).written);
  searched.cluster = "{nodes: 3, gpus_per_node: 3, gpu: h100}";
  searched.actor_devices = 3;
  EXPECT_TRUE((*Found(searched)).written);
  searched.cluster = "{nodes: 2, gpus_per_node: 3, gpu: h100}";
  EXPECT_FALSE((*Found(searched)).written) << "two and two have no room beside a whole node";
}

TEST(Search, EndsWhereItIsStoppedWithTheBestSoFar) {
  int left = 20;
  const Found some({}, {.stop = [&] { return left-- <= 0; }});
  EXPECT_TRUE((*some).stopped);
  EXPECT_EQ((*some).tried, 20);
  const Found all({});
  EXPECT_FALSE((*all).stopped);
  EXPECT_GE(some.best().step_s, all.best().step_s);
  EXPECT_THAT(Found({}, {.stop = [] { return true; }}).refusal(),
              HasSubstr("stopped before any placement was found"));
}

TEST(Search, IsBoundedOnLargeClusters) {
  Searched searched;
  searched.cluster = "{nodes: 1024, gpus_per_node: 8, gpu: h100}";
  searched.search = "{group: 2, micro_batches: [1], switch: 10s}";
  const Found found(searched, {.turns = 1, .candidates = 500});
  ASSERT_TRUE(found.result) << found.refusal();
  EXPECT_GT((*found).step, 16);
  EXPECT_LT((*found).tried, 20'000);
}

TEST(Search, SimulatesFewerTurnsOfManySequences) {
  std::string text = text_of({});
  text.replace(text.find("sequences: 64"), 13, "sequences: 90000");
  text.replace(text.find("gpus_per_node: 8"), 16, "gpus_per_node: 3");
  const scenarios::Scenario scenario = scenario_of(text);
  const auto job = searched_job(scenario, {});
  const auto result = search_placement(job.value());
  EXPECT_EQ(result.value().turns, 5);
}

TEST(Search, CountsWeightsThatCrossTheNetwork) {
  Searched searched;
  searched.cluster =
      "{nodes: 2, gpus_per_node: 1, gpu: h100, network: {nic_bandwidth: 1GB/s, "
      "latency: 0ns}}";
  searched.weights = "5GB";
  searched.search =
      "{group: 2, micro_batches: [1], apart: [[rollout, actor], [rollout, inference]]}";
  const Found found(searched);
  EXPECT_NEAR(found.best().path.weights_s, 5, 1e-6);
  searched.cluster = "{nodes: 1, gpus_per_node: 2, gpu: h100, network: {device_bandwidth: 50GB/s}}";
  EXPECT_NEAR(Found(searched).best().path.weights_s, 0.1, 1e-6);
}

TEST(Search, FindsTheSameWithCoarseStepsAndFinerOnesAroundTheBest) {
  Searched searched;
  searched.cluster = "{nodes: 2, gpus_per_node: 8, gpu: h100}";
  searched.search = "{switch: 4s, group: 2, micro_batches: [1, 8]}";
  const Found all(searched);
  const Found coarse(searched, {.turns = 32, .candidates = 1'500});
  EXPECT_EQ((*all).step, 1);
  EXPECT_GT((*coarse).step, 1);
  EXPECT_LT((*coarse).tried, (*all).tried);
  EXPECT_LE(coarse.best().step_s, 1.02 * all.best().step_s);
  EXPECT_GE(coarse.best().step_s, all.best().step_s - 1e-9);
}

TEST(Search, IsTheSameAgain) {
  const Found one({});
  const Found two({});
  ASSERT_EQ((*one).found.size(), (*two).found.size());
  for (std::size_t i = 0; i < (*one).found.size(); ++i) {
    EXPECT_EQ((*one).found[i].step_s, (*two).found[i].step_s);
    EXPECT_EQ((*one).found[i].candidate, (*two).found[i].candidate);
  }
}

// Whatever is found is legal in the language of placements, with as many processes as predicted,
// and nothing that was found is before something shorter.
TEST(Search, FindsPlacementsThatResolve) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const auto number = [&](std::uint64_t low, std::uint64_t high) {
      return std::to_string(low + draw.below(high - low + 1));
    };
    Searched searched;
    searched.cluster =
        "{nodes: " + number(1, 3) + ", gpus_per_node: " + number(3, 4) + ", gpu: h100}";
    searched.actor_devices = static_cast<std::int32_t>(1 + draw.below(3));
    searched.search = "{micro_batches: [1, 4], group: 2, switch: " + number(0, 9) + "s}";
    searched.train = number(5, 200) + "s";
    searched.traffic = "gradient: " + number(0, 50) + "GB";
    const Found found(searched, {.turns = 4, .candidates = 20'000});
    ASSERT_TRUE(found.result) << found.refusal();
    placement::Inventory inventory;
    for (const SearchedNode& node : found.job.nodes)
      inventory.nodes.push_back({node.devices, node.model, DeviceVendor::Nvidia});
    double before = 0;
    for (const Prediction& one : (*found).found) {
      EXPECT_GE(one.step_s, before - 1e-9);
      before = one.step_s;
      EXPECT_NEAR(one.path.seconds(), one.step_s, 1e-9);
      EXPECT_GE(one.idle, 0);
      EXPECT_LT(one.idle, 1);
      std::set<std::pair<std::int32_t, std::int32_t>> in_use;
      for (const RolePlaces& places : one.places)
        for (const DeviceRun& run : places.runs)
          for (std::int32_t device = 0; device < run.devices; ++device)
            in_use.emplace(run.node, run.first + device);
      EXPECT_EQ(one.devices, static_cast<std::int32_t>(in_use.size()));
      for (std::size_t r = 0; r < found.job.roles.size(); ++r) {
        const SearchedRole& role = found.job.roles[r];
        const std::string text = placement_text(found.job, one.places[r], role.width);
        placement::PlacementErrors errors;
        const auto components = placement::resolve_components(
            inventory, {{{role.name, {}}, {}, placement::PlacedText{text, {}}}}, errors);
        ASSERT_TRUE(errors.empty()) << text;
        ASSERT_EQ(components.front().processes.size(),
                  static_cast<std::size_t>(one.places[r].replicas))
            << text;
        for (const placement::Process& process : components.front().processes)
          EXPECT_EQ(process.devices.size(), static_cast<std::size_t>(role.width)) << text;
      }
    }
  }
}

TEST(Search, SaysWhatCannotBe) {
  Searched searched;
  searched.actor_devices = 9;
  EXPECT_THAT(Found(searched).refusal(),
              HasSubstr("infeasible: no placement fits on 8 devices of 1 nodes"));
  searched.actor_devices = 1;
  EXPECT_THAT(Found(searched, {.turns = 1, .candidates = 3}).refusal(),
              HasSubstr("too many candidates: found "));
}

TEST(Search, RolesThatTakeTurnsAreInOneGroup) {
  const Found found({});
  bool some = false;
  for (const Prediction& one : (*found).found) {
    const auto groups = sharing_roles(found.job, one);
    if (one.candidate.generates_everywhere) {
      some = true;
      EXPECT_THAT(groups, testing::ElementsAre(testing::SizeIs(3))) << "rollout shares with both";
    }
    EXPECT_EQ(groups.empty(), mode_of(one.candidate) == Mode::Disaggregated);
  }
  EXPECT_TRUE(some);
}

TEST(Search, KnowsTheFewestDevicesThatAreNearlyAsGood) {
  const Found found({});
  EXPECT_EQ(&(*found).smallest_within(1), &found.best());
  for (const double factor : {1.05, 1.5, 3.0}) {
    const Prediction& small = (*found).smallest_within(factor);
    EXPECT_LE(small.step_s, factor * found.best().step_s);
    for (const Prediction& one : (*found).found)
      if (one.devices < small.devices) {
        EXPECT_GT(one.step_s, factor * found.best().step_s);
      }
  }
}

TEST(Search, TellsEachSecondOfATurn) {
  const Found found({});
  const auto terms = path_terms(found.job, found.best().path);
  const double sum =
      std::accumulate(terms.begin(), terms.end(), 0.0, [](double all, const PathTerm& term) {
        return all + term.seconds;
      });
  EXPECT_NEAR(sum, found.best().step_s, 1e-9);
  EXPECT_THAT(places_in_words(found.job, found.best()), HasSubstr("rollout"));
  EXPECT_GT(found.best_places(kInference).replicas, 0);
  EXPECT_GT(found.best_places(kRollout).replicas, 0);
}

}  // namespace
}  // namespace orrery::sim
