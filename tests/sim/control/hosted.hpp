// A host over a scripted world with a watch that checks what must hold of every journal.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/control/controller_host.hpp"
#include "tests/sim/control/scripted_ports.hpp"

namespace orrery::tests {

/// Checks: orders only of durable records and of the leader's own epoch; epochs only rise; nothing
/// durable is ever lost; the chain never breaks.
class JournalChecker final : public sim::HostWatch {
 public:
  using LeaderNumber = sim::LeaderNumber;

  struct Life {
    LeaderNumber number;
    Epoch epoch;
    Sequence replayed;
    Digest state;
    std::optional<sim::LeaderEnd> end;
    Sequence stepped;
    Digest state_at_end;
  };

  std::vector<Life> lives;
  std::vector<std::string> failed_starts;
  std::uint64_t orders = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t lost = 0;
  Sequence durable;
  std::vector<Digest> chain{Digest{}};  ///< By sequence.

  void on_started(LeaderNumber n, Epoch epoch, Sequence replayed, Digest state) override {
    EXPECT_GT(epoch, newest_appended_);
    EXPECT_GE(replayed, durable);
    EXPECT_EQ(replayed.value + 1, chain.size());
    lives.push_back({n, epoch, replayed, state, std::nullopt, {}, {}});
  }

  void on_start_failed(const Errors& errors) override {
    failed_starts.push_back(errors.front().text());
  }

  void on_appended(LeaderNumber n, Epoch writer, const StoredRecord& record) override {
    EXPECT_EQ(writer, life(n).epoch);
    newest_appended_ = writer;
    EXPECT_EQ(n, lives.back().number) << "a deposed leader's record was taken";
    ASSERT_EQ(record.sequence.value, chain.size());
    Digester digester(chain.back());
    digester.update(record.bytes);
    EXPECT_EQ(digester.finish(), record.chain);
    chain.push_back(record.chain);
  }

  void on_durable(Sequence now) override {
    EXPECT_GT(now, durable);
    EXPECT_LT(now.value, chain.size());
    durable = now;
  }

  void on_lost(Sequence last) override {
    EXPECT_GE(last, durable) << "a durable record was lost";
    lost += chain.size() - 1 - last.value;
    chain.resize(last.value + 1);
  }

  void on_snapshot(LeaderNumber, const StoredSnapshot& snapshot) override {
    ++snapshots;
    EXPECT_EQ(snapshot.chain, chain[snapshot.sequence.value]);
  }

  void on_order(LeaderNumber n, const Command& order) override {
    ++orders;
    EXPECT_EQ(order.epoch, life(n).epoch);
    EXPECT_LE(order.sequence, durable) << "an order ran ahead of its record";
  }

  void on_ended(LeaderNumber n, sim::LeaderEnd end, Sequence stepped, Digest state) override {
    if (lives.empty() || lives.back().number < n) return;  // It never came to lead.
    Life& ended = life(n);
    ended.end = end;
    ended.stepped = stepped;
    ended.state_at_end = state;
  }

  /// Where a leader ended with nothing lost, its successor's replay gave the same state.
  void check_replays() const {
    for (std::size_t i = 1; i < lives.size(); ++i) {
      const Life& before = lives[i - 1];
      if (!before.end || before.stepped != lives[i].replayed) continue;
      EXPECT_EQ(before.state_at_end, lives[i].state) << "leader " << i + 1;
    }
  }

 private:
  Life& life(LeaderNumber n) {
    for (Life& each : lives)
      if (each.number == n) return each;
    ADD_FAILURE() << "leader " << n.value << " never started";
    return lives.emplace_back();
  }

  Epoch newest_appended_;
};

/// Two nodes of four devices, a policy that grants minimums.
struct Hosted {
  static constexpr std::uint32_t kNodes = 2;

  explicit Hosted(std::uint64_t seed = 1, std::uint64_t snapshot_every = 0)
      : ports(kNodes), host(options(seed, snapshot_every), ports, nullptr, &checker) {}

  static sim::HostOptions options(std::uint64_t seed, std::uint64_t snapshot_every) {
    sim::HostOptions out;
    out.seed = seed;
    out.settings.policy = "minimum/1";
    out.declarations = {NodesDeclared{{nodes_of(kNodes, 4)}}};
    out.policy = [] { return std::make_unique<MinimumPolicy>(); };
    out.snapshot_every = snapshot_every;
    out.restart_after = Duration::seconds(2);
    return out;
  }

  void run(std::int64_t until_second) {
    host.run(Instant::zero() + Duration::seconds(until_second));
  }

  const State& state() const { return host.controller(*host.leading()).state(); }

  ScriptedPorts ports;
  JournalChecker checker;
  sim::ControllerHost host;
};

}  // namespace orrery::tests
