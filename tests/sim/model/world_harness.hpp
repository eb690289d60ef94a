// The model world driven by hand: orders go in, events come out, no controller in between.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_world.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::tests {

/// Jobs from a list.
class ListedJobs : public sim::JobSource {
 public:
  explicit ListedJobs(std::vector<sim::ModelJob> jobs) : jobs_(std::move(jobs)) {}

  std::optional<sim::ModelJob> next() override {
    if (taken_ == jobs_.size()) return std::nullopt;
    return jobs_[taken_++];
  }

 private:
  std::vector<sim::ModelJob> jobs_;
  std::size_t taken_ = 0;
};

/// `seconds` of work for one replica, which more share among them.
inline sim::ModelJob modelled(const JobSpec& spec, double seconds) {
  sim::ModelJob job;
  job.spec = std::make_shared<const JobSpec>(spec);
  job.work.units = seconds;
  return job;
}

inline Instant at_s(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

inline scenarios::Fault fault_at(double seconds, scenarios::FaultKind kind) {
  scenarios::Fault fault;
  fault.kind = kind;
  fault.at = at_s(seconds);
  return fault;
}

inline scenarios::Fault worker_fault(double seconds,
                                     scenarios::FaultKind kind,
                                     std::int32_t rank = 0) {
  scenarios::Fault fault = fault_at(seconds, kind);
  fault.job = "default.train";
  fault.worker.index = rank;
  return fault;
}

inline scenarios::Fault node_fault(double seconds,
                                   scenarios::FaultKind kind,
                                   std::uint32_t node = 0,
                                   Duration lasting = Duration::forever()) {
  scenarios::Fault fault = fault_at(seconds, kind);
  fault.nodes = {NodeId{node}};
  fault.lasting = lasting;
  return fault;
}

/// Four nodes of four devices, a lease of 10 s with a fence margin of 2 s.
inline scenarios::Scenario four_nodes(std::vector<scenarios::Fault> faults = {}) {
  scenarios::Scenario scenario;
  scenario.groups = {nodes_of(4, 4)};
  scenario.nodes_per_switch = {0};
  scenario.faults = std::move(faults);
  return scenario;
}

class WorldHarness {
 public:
  WorldHarness(scenarios::Scenario scenario,
               std::vector<sim::ModelJob> jobs,
               sim::Fabric* fabric = nullptr)
      : scenario_(std::move(scenario)),
        source_(std::move(jobs)),
        world(scenario_, source_, fabric) {}

 private:
  scenarios::Scenario scenario_;
  ListedJobs source_;
  std::uint32_t accepted_ = 0;

 public:
  sim::ModelWorld world;
  std::vector<Event> events;  ///< Everything so far, in order.

  /// Lets time pass; every submission is accepted as it comes.
  void pass_to(double seconds) {
    const Instant until = at_s(seconds);
    while (true) {
      const std::size_t before = events.size();
      const bool more = world.wait_events(until, events);
      for (std::size_t i = before; i < events.size(); ++i)
        if (const auto* submitted = std::get_if<JobSubmitted>(&events[i].body))
          issue(AnswerRequest{submitted->request, JobId{accepted_++}, true, {}});
      if (events.size() == before && (!more || world.now() >= until)) return;
    }
  }

  void issue(CommandBody body) { world.issue({Sequence{1}, 0, Epoch{1}, std::move(body)}); }

  /// Starts ranks `first` to `last` as generation and incarnation `number`, rank i on node i with
  /// device 0; roles by rank (empty: role 0).
  void start(std::uint32_t number,
             std::uint32_t first,
             std::uint32_t last,
             const std::vector<std::uint16_t>& roles = {},
             JobId job = JobId{0}) {
    StartWorkers order{job, Generation{number}, last + 1, {}};
    for (std::uint32_t rank = first; rank <= last; ++rank) {
      WorkerStart worker;
      worker.rank = Rank{rank};
      worker.role = RoleIndex{roles.empty() ? std::uint16_t{0} : roles[rank]};
      worker.local_rank = static_cast<std::int32_t>(rank);
      worker.node = NodeId{rank};
      worker.incarnation = Incarnation{number};
      worker.devices = 1;
      order.workers.push_back(worker);
    }
    issue(std::move(order));
  }

  void stop(std::uint32_t number, std::uint32_t rank, Duration grace) {
    issue(StopWorkers{
        JobId{0}, Generation{number}, grace, {{Rank{rank}, NodeId{rank}, Incarnation{number}}}});
  }

  const sim::LiveJob& job(JobId id = JobId{0}) const {
    const sim::LiveJob* found = world.cluster().job(id);
    if (found == nullptr) {
      ADD_FAILURE() << "job " << id.value << " is over";
      static const sim::LiveJob kNone;
      return kNone;
    }
    return *found;
  }

  double done(JobId id = JobId{0}) const { return job(id).done_at(world.now()); }

  /// All events of one kind, in order, with their instants.
  template <class Body>
  std::vector<std::pair<double, Body>> of() const {
    std::vector<std::pair<double, Body>> out;
    for (const Event& event : events)
      if (const auto* body = std::get_if<Body>(&event.body))
        out.emplace_back(event.at.in_seconds(), *body);
    return out;
  }

  /// Reports of one fact.
  std::vector<std::pair<double, WorkersChanged>> reported(WorkerFact fact) const {
    auto out = of<WorkersChanged>();
    std::erase_if(out, [&](const auto& each) { return each.second.fact != fact; });
    return out;
  }
};

}  // namespace orrery::tests
