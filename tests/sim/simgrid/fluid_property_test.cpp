// Leaving flows on links that are not contended out of SimGrid changes nothing: random stages come
// and go, links degrade and mend, and both ways must tell the same story. Each world is made in a
// child process, since SimGrid allows one engine per process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "core/base/random.hpp"
#include "sim/simgrid/fluid_fabric.hpp"

namespace orrery::sim {
namespace {

constexpr std::uint32_t kNodes = 24;

// What happened: the instant in seconds, and the stage or what was asked about it.
struct Fact {
  double at = 0;
  double subject = 0;
  double value = 0;
};

scenarios::NetworkSpec network_of(std::uint64_t seed) {
  scenarios::NetworkSpec network;
  network.nic_bandwidth = 10e9;
  network.link_bandwidth = 10e9;
  network.storage_bandwidth = 25e9;
  switch (seed % 4) {
    case 0:
      break;
    case 1:
      network.topology = scenarios::NetworkTopology::FatTree;
      network.nodes_per_leaf = 4;
      network.oversubscription = 2;
      break;
    case 2:
      network.topology = scenarios::NetworkTopology::Torus;
      network.torus = {2, 3, 4};
      break;
    case 3:
      network.topology = scenarios::NetworkTopology::Dragonfly;
      network.dragonfly = {2, 2, 3, 2};
      break;
  }
  return network;
}

Stage random_stage(Random& random) {
  Stage stage;
  Exchange exchange;
  const Pattern patterns[] = {
      Pattern::Ring, Pattern::Tree, Pattern::Broadcast, Pattern::Chain, Pattern::AllToAll};
  exchange.pattern = patterns[random.below(5)];
  std::vector<NodeId> all;
  for (std::uint32_t i = 0; i < kNodes; ++i) all.emplace_back(i);
  random.shuffle(all);
  all.resize(2 + random.below(5));
  exchange.members = all;
  exchange.bytes = random.uniform(0.5e9, 8e9);
  stage.exchanges.push_back(exchange);
  if (random.below(3) == 0)
    stage.exchanges.push_back(
        {Pattern::Transfers, {}, 0, {{all[0], NodeId::none(), random.uniform(1e9, 20e9)}}});
  stage.compute_s = random.uniform(0, 1);
  stage.overlap = random.uniform(0, 1);
  stage.paced = random.below(3) != 0;
  stage.steps = stage.paced ? random.uniform(3, 20) : 1;
  return stage;
}

// Plays 40 stages; whole numbers of seconds lie between what is done from outside.
std::vector<Fact> play(std::uint64_t seed, bool everything_in_simgrid) {
  auto engine = std::make_unique<SimGridEngine>();
  Result<Platform> platform = Platform::make(*engine, network_of(seed), kNodes);
  FluidFabric fabric(std::move(engine), std::move(platform).value(), {everything_in_simgrid});
  Random random(seed);
  std::vector<Fact> facts;
  std::vector<std::uint32_t> number;  // By id: which of the stages it is.
  std::vector<StageId> live;
  std::vector<StageId> complete;
  Instant now;
  const auto pass = [&](Instant until) {
    while (now < until) {
      now = fabric.next(until);
      complete.clear();
      fabric.pass_to(now, complete);
      for (const StageId id : complete) {
        facts.push_back({now.in_seconds(), static_cast<double>(number[id.value]), -1});
        std::erase(live, id);
      }
    }
  };
  for (std::uint32_t i = 0; i < 40; ++i) {
    pass(now + Duration::seconds(1 + static_cast<std::int64_t>(random.below(4))));
    const Stage stage = random_stage(random);
    const NodeId node(static_cast<std::uint32_t>(random.below(kNodes)));
    const double share = random.below(2) == 0 ? 1 : random.uniform(0.2, 1);
    const std::uint32_t what = static_cast<std::uint32_t>(random.below(6));
    const double which = random.uniform(0, 1);
    const StageId id = fabric.begin(stage, now);
    if (number.size() <= id.value) number.resize(id.value + 1);
    number[id.value] = i;
    live.push_back(id);
    if (what == 0) fabric.set_link_share(node, share, now);
    // By age, which both ways agree on, not by id.
    const StageId some = live[static_cast<std::size_t>(which * static_cast<double>(live.size()))];
    facts.push_back(
        {now.in_seconds(), static_cast<double>(number[some.value]), fabric.steps_done(some, now)});
    if (what == 1) {
      fabric.end(some, now);
      std::erase(live, some);
    }
  }
  pass(now + Duration::seconds(100'000));
  return facts;
}

std::vector<Fact> play_in_child(std::uint64_t seed, bool everything_in_simgrid) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Fact> facts = play(seed, everything_in_simgrid);
    const ssize_t size = static_cast<ssize_t>(facts.size() * sizeof(Fact));
    _exit(write(ends[1], facts.data(), static_cast<std::size_t>(size)) == size ? 0 : 1);
  }
  close(ends[1]);
  std::vector<Fact> facts(1000);
  std::size_t bytes = 0;
  while (true) {
    const ssize_t got = read(ends[0],
                             reinterpret_cast<char*>(facts.data()) + bytes,
                             facts.size() * sizeof(Fact) - bytes);
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "seed " << seed;
  facts.resize(bytes / sizeof(Fact));
  return facts;
}

class FluidPropertyTest : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, FluidPropertyTest, testing::Range<std::uint64_t>(1, 25));

TEST_P(FluidPropertyTest, OnlyContendedLinksInSimGridIsExact) {
  const std::vector<Fact> whole = play_in_child(GetParam(), true);
  const std::vector<Fact> part = play_in_child(GetParam(), false);
  ASSERT_EQ(whole.size(), part.size()) << "seed " << GetParam();
  ASSERT_GE(whole.size(), 60u) << "seed " << GetParam();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].subject, part[i].subject) << "seed " << GetParam() << " fact " << i;
    EXPECT_NEAR(whole[i].at, part[i].at, 1e-4) << "seed " << GetParam() << " fact " << i;
    EXPECT_NEAR(whole[i].value, part[i].value, 1e-3) << "seed " << GetParam() << " fact " << i;
  }
}

TEST_P(FluidPropertyTest, EqualRunsAreEqual) {
  const std::vector<Fact> once = play_in_child(GetParam(), false);
  const std::vector<Fact> again = play_in_child(GetParam(), false);
  ASSERT_EQ(once.size(), again.size()) << "seed " << GetParam();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].at, again[i].at) << "seed " << GetParam() << " fact " << i;
    EXPECT_EQ(once[i].subject, again[i].subject) << "seed " << GetParam() << " fact " << i;
    EXPECT_EQ(once[i].value, again[i].value) << "seed " << GetParam() << " fact " << i;
  }
}

}  // namespace
}  // namespace orrery::sim
