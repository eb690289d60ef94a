// What level L3 costs: a heartbeat through actors and mailboxes, a message of a collective.
//
//   bench_messages
//
// Each line is a process of its own, since SimGrid has one engine. Microseconds are of processor
// time, everything in it: the world's side, SimGrid, and the actors.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "sim/simgrid/actor_transport.hpp"
#include "sim/simgrid/message_fabric.hpp"

namespace orrery::sim {
namespace {

double cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_mb() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

struct Cluster {
  explicit Cluster(std::int64_t nodes) {
    scenarios::NetworkSpec network;
    network.storage_bandwidth = 1e12;
    Result<Platform> made = Platform::make(engine, network, nodes);
    if (made) platform = std::make_unique<Platform>(std::move(made).value());
  }

  SimGridEngine engine{{"contexts/stack-size:64"}};
  std::unique_ptr<Platform> platform;
  MessageClock clock{engine};
};

// Each node sends a heartbeat every ten seconds and is answered, for a hundred seconds.
void heartbeats(std::uint32_t nodes) {
  Cluster cluster(nodes);
  const double made_before_s = cpu_s();
  const double memory_before = resident_mb();
  ActorTransport transport(cluster.clock, *cluster.platform);
  const double made_s = cpu_s() - made_before_s;
  const double memory = resident_mb() - memory_before;
  const double before_s = cpu_s();
  std::uint64_t carried = 0;
  std::vector<std::uint32_t> arrived;
  const auto hear = [&](Instant limit) {
    while (true) {
      const Instant next = transport.next(limit);
      if (next > limit) return;
      arrived.clear();
      transport.take_arrived(next, arrived);
      carried += arrived.size();
      for (const std::uint32_t number : arrived)
        if (number < nodes) transport.send(number + nodes, NodeId{number}, Way::ToNode, 64, next);
    }
  };
  for (int round = 0; round < 10; ++round) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const Instant now = at(10.0 * round + 10.0 * n / nodes);
      hear(now);
      transport.send(n, NodeId{n}, Way::FromNode, 96, now);
    }
  }
  hear(at(1'000));
  const double spent_s = cpu_s() - before_s;
  std::printf("%6u agents: %5.2f us a message (%llu), %6.3f s and %5.1f MB to make the actors\n",
              nodes,
              1e6 * spent_s / static_cast<double>(carried),
              static_cast<unsigned long long>(carried),
              made_s,
              memory);
}

// So many jobs, each an all-reduce over its own nodes, all at once.
void rings(std::uint32_t jobs, std::uint32_t members, double steps) {
  Cluster cluster(std::int64_t{jobs} * members);
  MessageFabric fabric(cluster.clock, *cluster.platform, {});
  const double before_s = cpu_s();
  for (std::uint32_t j = 0; j < jobs; ++j) {
    Stage stage;
    stage.steps = steps;
    stage.compute_s = 0.1 + 1e-5 * j;
    stage.exchanges.emplace_back();
    stage.exchanges[0].pattern = Pattern::Ring;
    stage.exchanges[0].bytes = 1e9;
    for (std::uint32_t m = 0; m < members; ++m)
      stage.exchanges[0].members.push_back(NodeId{j * members + m});
    (void)fabric.begin(stage, Instant::zero());
  }
  std::vector<StageId> complete;
  while (complete.size() < jobs) fabric.pass_to(fabric.next(Instant::never()), complete);
  const double spent_s = cpu_s() - before_s;
  std::printf("%4u jobs, rings of %3u: %5.2f us a message (%llu), %7.3f ms an iteration\n",
              jobs,
              members,
              1e6 * spent_s / static_cast<double>(fabric.messages_sent()),
              static_cast<unsigned long long>(fabric.messages_sent()),
              1e3 * spent_s / (steps * jobs));
}

void in_a_child(const std::function<void()>& measure) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    measure();
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace orrery::sim

int main() {
  using orrery::sim::heartbeats;
  using orrery::sim::in_a_child;
  using orrery::sim::rings;
  std::puts("Heartbeats and their answers, every 10 s:");
  for (const std::uint32_t nodes : {100u, 1'000u, 4'000u, 8'000u})
    in_a_child([nodes] { heartbeats(nodes); });
  std::puts("Ring all-reduces:");
  in_a_child([] { rings(1, 8, 200); });
  in_a_child([] { rings(10, 8, 50); });
  in_a_child([] { rings(100, 8, 10); });
  in_a_child([] { rings(1, 64, 10); });
  in_a_child([] { rings(8, 64, 2); });
}
