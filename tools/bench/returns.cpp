// A whole cluster comes back at once: each node registers with its complete list.
//
//   bench_returns [nodes] [jobs]     16384 and 20000 where none is given
//
// Prints how long a leader takes until the controller has decided all lists, and how that compares
// with walking once over all jobs and workers for a sample of the nodes, which is what a leader
// without an index does for every list. Both in the same run, on one core.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/control/controller.hpp"
#include "core/leader/leader.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

constexpr std::int32_t kDevices = 8;
constexpr std::uint32_t kSample = 64;  // Lists that the baseline is measured with.

/// Agents that hear and say nothing.
class IgnoredStreams final : public NodeStreams {
 public:
  void renew(NodeId, Instant, bool) override {}

  void announce(NodeId) override {}

  void tell_job(NodeId, const JobState&) override {}

  void tell_members(NodeId, const JobState&) override {}

  void order(NodeId, const std::shared_ptr<const Command>&) override {}

  void close(NodeId, std::string_view) override {}
};

class Cluster {
 public:
  Cluster(std::uint32_t nodes, std::uint32_t jobs) {
    step(EpochStarted{Epoch{1}, settings_});
    NodeGroup group;
    group.name = "all";
    group.count = static_cast<std::int32_t>(nodes);
    group.cpu = MilliCpu{kDevices * 1000};
    group.memory = Bytes{std::int64_t{kDevices} << 30};
    group.devices = kDevices;
    step(NodesDeclared{{group}});
    const auto each = std::max<std::int32_t>(
        1, static_cast<std::int32_t>(nodes) * kDevices / static_cast<std::int32_t>(jobs));
    for (std::uint32_t j = 0; j < jobs; ++j) start("default.job" + std::to_string(j), each);
    step(EpochStarted{Epoch{2}, settings_});
  }

  /// Lets every node return; seconds of processor time.
  double return_all() {
    const State& state = controller_.state();
    std::vector<std::vector<RunningWorker>> lists(state.nodes.size());
    state.for_each_job([&](const JobState& job) {
      for (const Worker& worker : job.workers)
        lists[worker.node.index()].push_back(
            {job.row.id, worker.born, worker.incarnation, worker.birth_rank});
    });
    IgnoredStreams ignored;
    Leader leader(Epoch{2},
                  state,
                  settings_,
                  static_cast<std::uint32_t>(lists.size()),
                  {},
                  Duration::zero(),
                  ignored);
    leader.establish({});
    const double begin = thread_seconds();
    for (std::uint32_t n = 0; n < lists.size(); ++n) {
      leader.connected(NodeId{n});
      HeardBeat heard;
      heard.beat = {NodeId{n}, Epoch{2}, 1, 1, {}, true, Sequence{UINT64_MAX}, lists[n]};
      leader.beat(NodeId{n}, std::move(heard), true, {});
    }
    while (leader.has_news()) {
      std::vector<Event> events;
      leader.take_news(events);
      for (const Event& event : events) take(event);
    }
    return thread_seconds() - begin;
  }

  /// Seconds for one list without an index.
  double scan_once() const {
    std::size_t found = 0;
    const double begin = thread_seconds();
    for (std::uint32_t n = 0; n < kSample; ++n)
      controller_.state().for_each_job([&](const JobState& job) {
        for (const Worker& worker : job.workers)
          found += worker.node == NodeId{n} && worker.state == WorkerState::Starting ? 1 : 0;
      });
    const double took = thread_seconds() - begin;
    if (found > 0) std::printf("%zu workers have not started\n", found);
    return took / kSample;
  }

  std::size_t workers() const {
    std::size_t count = 0;
    controller_.state().for_each_job([&](const JobState& job) { count += job.workers.size(); });
    return count;
  }

 private:
  void start(const std::string& name, std::int32_t replicas) {
    auto spec = std::make_shared<JobSpec>();
    spec->name = name;
    RoleSpec& role = spec->roles.emplace_back();
    role.name = "worker";
    role.min_replicas = role.max_replicas = replicas;
    role.bundle.devices = 1;
    step(JobSubmitted{0, spec});
    const JobId id{controller_.state().next_job().value - 1};
    Plan plan;
    plan.grants.push_back({id, RoleIndex::none(), replicas});
    step(PlanProposed{{}, PlanTrigger::Period, {}, plan});
    const JobState& job = controller_.state().job(id);
    if (job.workers.empty()) return;
    step(WorkersChanged{id,
                        job.row.generation,
                        job.incarnation,
                        WorkerFact::Ready,
                        Rank{0},
                        static_cast<std::uint32_t>(job.workers.size())});
  }

  void step(EventBody body) { take({{}, {}, Origin::External, std::move(body)}); }

  void take(const Event& event) {
    out_ = {};
    controller_.step(event, out_);
  }

  Settings settings_;
  Controller controller_;
  Commands out_;
};

int run(std::uint32_t nodes, std::uint32_t jobs) {
  Cluster cluster(nodes, jobs);
  const double scan = cluster.scan_once();
  const double all = cluster.return_all();
  std::printf(
      "%u nodes return at once, %u jobs, %zu workers\n"
      "  all decided in            %8.3f s, %.1f us a node\n"
      "  one walk over all workers %8.3f ms; one for each node would be %.1f s, %.0f times as "
      "long\n",
      nodes,
      jobs,
      cluster.workers(),
      all,
      all * 1e6 / nodes,
      scan * 1e3,
      scan * nodes,
      scan * nodes / all);
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint32_t otherwise) {
    return argc > i ? static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)) : otherwise;
  };
  return orrery::bench::run(number(1, 16384), number(2, 20000));
}
