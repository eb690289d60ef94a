// A small world for leaders: processes that become ready after a second and end well after `life`,
// clients that ask again until they are answered, agents that obey the newest epoch only and tell
// everything again to the leader.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/control/controller.hpp"
#include "sim/control/controller_host.hpp"
#include "sim/control/leader_ports.hpp"
#include "tests/support/fake_cluster.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/minimum_policy.hpp"

namespace orrery::tests {

class ScriptedPorts final : public sim::LeaderPorts {
 public:
  using LeaderNumber = sim::LeaderNumber;

  explicit ScriptedPorts(std::uint32_t nodes) : nodes_(nodes) {}

  // --- the script ---

  void submit_at(std::int64_t second, const JobBuilder& job) {
    const std::uint64_t request = ++requests_;
    at(second, [this, request, spec = std::make_shared<JobSpec>(job.spec())] {
      unanswered_.emplace(request, spec);
      tell_leader({Origin::External, JobSubmitted{request, spec}});
    });
  }

  void at(std::int64_t second, std::function<void()> what) {
    later(Instant::zero() + Duration::seconds(second), std::move(what));
  }

  void later(Instant when, std::function<void()> what) { future_.emplace(when, std::move(what)); }

  Duration life = Duration::seconds(20);          ///< Of a process, once ready.
  std::map<LeaderNumber, Duration> clocks_ahead;  ///< Of the world's; others: zero.

  // --- what came of it ---

  FakeCluster cluster;
  std::uint64_t starts = 0;          ///< Processes that ever began.
  std::uint64_t orders_refused = 0;  ///< With the epoch of a leader that had been succeeded.
  std::map<std::uint64_t, std::uint64_t> accepted;  ///< By request: how often it was accepted.

  bool all_answered() const { return unanswered_.empty(); }

  // --- sim::LeaderPorts ---

  Instant now() const override { return now_; }

  World& port(LeaderNumber leader, Epoch epoch, const State&) override {
    const auto made = ports_.emplace(leader, std::make_unique<Port>(*this, epoch)).first;
    made->second->ahead = clocks_ahead[leader];
    return *made->second;
  }

  void established(LeaderNumber leader) override {
    Port& port = *ports_.at(leader);
    port.speaks = true;
    newest_ = std::max(newest_, port.epoch);
    for (const auto& [request, spec] : unanswered_)
      port.hears(now_, {Origin::External, JobSubmitted{request, spec}});
    for (const WorkersChanged& report : reports_) port.hears(now_, {Origin::Reaction, report});
    for (std::uint32_t n = 0; n < nodes_; ++n)
      port.hears(now_, {Origin::Reaction, cluster.complete_list(NodeId{n})});
  }

  void close(LeaderNumber leader) override { ports_.erase(leader); }

  void advance(Instant until) override {
    if (until.is_never() && future_.empty()) return;
    now_ = std::max(now_, future_.empty() ? until : std::min(until, future_.begin()->first));
    while (!future_.empty() && future_.begin()->first <= now_) {
      const auto what = std::move(future_.begin()->second);
      future_.erase(future_.begin());
      what();
    }
  }

 private:
  struct Told {
    Origin origin;
    EventBody body;
  };

  struct Port final : World {
    Port(ScriptedPorts& ports, Epoch e) : world(ports), epoch(e) {}

    Instant now() const override { return world.now_ + ahead; }

    void issue(const Command& command) override { world.obey(command); }

    bool wait_events(Instant, std::vector<Event>& events) override {
      std::move(inbox.begin(), inbox.end(), std::back_inserter(events));
      inbox.clear();
      return true;
    }

    void hears(Instant at, Told told) {
      inbox.push_back({at + ahead, at + ahead, told.origin, std::move(told.body)});
    }

    ScriptedPorts& world;
    Epoch epoch;
    Duration ahead;
    bool speaks = false;
    std::vector<Event> inbox;
  };

  /// What an agent remembers of a start.
  struct Start {
    JobId job;
    Incarnation incarnation;
    Rank rank;

    friend auto operator<=>(const Start&, const Start&) = default;
  };

  void tell_leader(const Told& told) {
    for (const auto& [number, port] : ports_)
      if (port->speaks && port->epoch == newest_) port->hears(now_, told);
  }

  // Kept to be told again: a leader may crash before it has made a report durable.
  void report(const WorkersChanged& what) {
    reports_.push_back(what);
    tell_leader({Origin::Reaction, what});
  }

  void obey(const Command& command) {
    if (command.epoch < newest_) {
      ++orders_refused;
    } else if (const auto* answer = std::get_if<AnswerRequest>(&command.body)) {
      accepted[answer->request] += answer->accepted ? 1 : 0;
      unanswered_.erase(answer->request);
    } else if (const auto* start = std::get_if<StartWorkers>(&command.body)) {
      begin(*start);
    } else {
      cluster.issue(command.body);
    }
  }

  void begin(StartWorkers order) {
    std::erase_if(order.workers, [&](const WorkerStart& w) {
      return !known_.insert({order.job, w.incarnation, w.rank}).second;
    });
    starts += order.workers.size();
    cluster.issue(order);
    for (const WorkerStart& w : order.workers) {
      const Start start{order.job, w.incarnation, w.rank};
      const Instant ready = now_ + Duration::seconds(1);
      later(ready, [this, start] { happen(start, false); });
      later(ready + life, [this, start] { happen(start, true); });
    }
  }

  void happen(const Start& start, bool ends) {
    for (std::size_t i = 0; i < cluster.processes.size(); ++i) {
      const FakeProcess& p = cluster.processes[i];
      if (p.job != start.job || p.incarnation != start.incarnation || p.birth_rank != start.rank)
        continue;
      const std::int32_t code = p.stopping ? 143 : 0;
      return report(ends ? cluster.end(i, WorkerFact::Exited, code) : cluster.ready(i));
    }
  }

  std::uint32_t nodes_;
  Instant now_;
  Epoch newest_;  ///< What the agents have heard of.
  std::multimap<Instant, std::function<void()>> future_;
  std::map<LeaderNumber, std::unique_ptr<Port>> ports_;
  std::map<std::uint64_t, std::shared_ptr<const JobSpec>> unanswered_;
  std::vector<WorkersChanged> reports_;
  std::set<Start> known_;
  std::uint64_t requests_ = 0;
};

}  // namespace orrery::tests
