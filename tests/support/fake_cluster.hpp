// A cluster that does what it is told and whose every process can be made to do anything: it checks
// that no two live processes are ever on one device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery::tests {

/// One worker process.
struct FakeProcess {
  JobId job;
  Incarnation incarnation;
  Generation born;  ///< Generation of its start,
  Rank birth_rank;  ///< and its rank in it: how it is reported.
  Generation generation;
  Rank rank;
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  std::uint64_t devices = 0;
  Share share;
  std::int32_t first_port = 0;
  JobId beside;  ///< On whose devices it was put.
  bool ready = false;
  bool stopping = false;
};

class FakeCluster {
 public:
  /// Whether two processes on one device are an error; not where the controller is lied to.
  bool exclusive = true;
  std::vector<FakeProcess> processes;  ///< Live ones, in order of their start.

  void issue(const CommandBody& body) {
    if (const auto* start = std::get_if<StartWorkers>(&body)) this->start(*start);
    if (const auto* stop = std::get_if<StopWorkers>(&body)) this->stop(*stop);
    if (const auto* update = std::get_if<UpdateMembership>(&body)) this->update(*update);
  }

  /// The process becomes ready; what is reported.
  WorkersChanged ready(std::size_t index) {
    processes[index].ready = true;
    return report(processes[index], WorkerFact::Ready, 0);
  }

  /// The process runs and says no hello: it knows no membership but that of its start.
  WorkersChanged runs(std::size_t index) {
    processes[index].ready = true;
    WorkersChanged out = report(processes[index], WorkerFact::Running, 0);
    out.environment = processes[index].born;
    return out;
  }

  /// The process ends.
  WorkersChanged end(std::size_t index, WorkerFact fact, std::int32_t exit_code = 0) {
    const WorkersChanged out = report(processes[index], fact, exit_code);
    processes.erase(processes.begin() + static_cast<std::ptrdiff_t>(index));
    return out;
  }

  /// Everything on the node dies, without a word.
  void kill_node(NodeId node) {
    std::erase_if(processes, [&](const FakeProcess& p) { return p.node == node; });
  }

  /// What the node says of itself.
  NodeReturned complete_list(NodeId node) const {
    NodeReturned out{node, {}};
    for (const FakeProcess& p : processes)
      if (p.node == node) out.workers.push_back({p.job, p.born, p.incarnation, p.birth_rank});
    return out;
  }

  std::optional<std::size_t> first(bool (*wanted)(const FakeProcess&)) const {
    const auto found = std::find_if(processes.begin(), processes.end(), wanted);
    if (found == processes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - processes.begin());
  }

  static WorkersChanged report(const FakeProcess& p, WorkerFact fact, std::int32_t exit_code) {
    return {p.job, p.born, p.incarnation, fact, p.birth_rank, 1, exit_code};
  }

 private:
  FakeProcess* find(JobId job, Incarnation incarnation, Rank birth_rank) {
    for (FakeProcess& p : processes)
      if (p.job == job && p.incarnation == incarnation && p.birth_rank == birth_rank) return &p;
    return nullptr;
  }

  void start(const StartWorkers& order) {
    for (const WorkerStart& start : order.workers) {
      if (find(order.job, start.incarnation, start.rank) != nullptr) continue;
      FakeProcess p{order.job,
                    start.incarnation,
                    order.generation,
                    start.rank,
                    order.generation,
                    start.rank,
                    start.role,
                    start.local_rank,
                    start.node,
                    start.devices,
                    start.share,
                    start.first_port,
                    start.beside};
      if (exclusive) check_alone(p);
      processes.push_back(p);
    }
  }

  void check_alone(const FakeProcess& fresh) const {
    for (const FakeProcess& p : processes) {
      if (p.node == fresh.node && p.first_port == fresh.first_port) {
        EXPECT_EQ(p.first_port, 0) << "two processes listen there on node " << p.node.value;
      }
      if (p.node != fresh.node || (p.devices & fresh.devices) == 0) continue;
      // Roles of one job sit on the same devices where they take turns.
      const bool turns = p.job == fresh.job && p.role != fresh.role;
      // Two jobs do where one was put beside the other, a third does not.
      const bool together = p.job != fresh.job && (p.beside == fresh.job || fresh.beside == p.job);
      const bool parts = !p.share.is_whole() && !fresh.share.is_whole();
      const bool shared = parts || turns || together;
      EXPECT_TRUE(shared) << "jobs " << p.job.value << " (start " << p.incarnation.value << ") and "
                          << fresh.job.value << " (start " << fresh.incarnation.value
                          << ") are both on devices " << (p.devices & fresh.devices) << " of node "
                          << p.node.value;
    }
    if (fresh.share.is_whole()) return;
    std::int32_t sum = fresh.share.thousandths;
    for (const FakeProcess& p : processes)
      if (p.node == fresh.node && p.devices == fresh.devices) sum += p.share.thousandths;
    EXPECT_LE(sum, 1000) << "node " << fresh.node.value << " devices " << fresh.devices;
  }

  void stop(const StopWorkers& order) {
    for (const WorkerStop& target : order.workers)
      for (FakeProcess& p : processes) {
        if (p.job != order.job || p.node != target.node || p.incarnation != target.incarnation)
          continue;
        if ((p.generation == order.generation && p.rank == target.rank) ||
            (p.born == order.generation && p.birth_rank == target.rank))
          p.stopping = true;
      }
  }

  void update(const UpdateMembership& order) {
    for (const WorkerStart& member : order.members) {
      FakeProcess* p = find(order.job, member.incarnation, member.birth_rank);
      if (p == nullptr) continue;
      p->generation = order.generation;
      p->rank = member.rank;
      p->local_rank = member.local_rank;
    }
  }
};

}  // namespace orrery::tests
