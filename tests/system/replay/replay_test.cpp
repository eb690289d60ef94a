// A journal read back gives the same state, and damage is found.

#include "core/driver/replay.hpp"

#include <gtest/gtest.h>

#include "core/driver/memory_store.hpp"
#include "policies/tiresias.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"

namespace orrery {
namespace {

constexpr std::string_view kBusyCluster = R"(
name: busy
seed: 5
cluster: {nodes: 4, gpus_per_node: 4}
policy: tiresias
workload:
  generator:
    jobs: 120
    arrivals: {load: 1.2}
    duration: {lognormal: {median: 20min, sigma: 1}}
    gpu_mix: [{gpus: 1, weight: 3}, {gpus: 2, weight: 1}, {gpus: 8, weight: 1}]
    preemptible_share: 1
faults:
  - {at: 1h, node: 1, kind: down, for: 30min}
)";

/// A run under Tiresias whose journal went to `store`.
std::string run_busy_cluster(StateStore& store, std::uint64_t snapshot_every) {
  const auto scenario = scenarios::parse_scenario(kBusyCluster, "busy.yaml");
  if (!scenario) return scenario.errors().front().text();
  const auto workload = sim::LoadedWorkload::load(*scenario);
  policies::Tiresias policy({});
  sim::RunOptions options;
  options.store = &store;
  options.snapshot_every = snapshot_every;
  const auto report = sim::run_model(*scenario, *workload, policy, options);
  return report ? "" : report.errors().front().text();
}

/// Passes the records of another store on, one byte of one record changed.
class DamagedStore final : public StateStore {
 public:
  DamagedStore(MemoryStore& sound, Sequence damaged) : sound_(sound), damaged_(damaged) {}

  Status append(Epoch writer, std::span<const StoredRecord> records) override {
    return sound_.append(writer, records);
  }

  Sequence durable() const override { return sound_.durable(); }

  Status sync() override { return Done{}; }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return sound_.read_from(first, [&](const StoredRecord& record) {
      std::vector<std::byte> bytes(record.bytes.begin(), record.bytes.end());
      if (record.sequence == damaged_) bytes.back() ^= std::byte{1};
      return visit({record.sequence, record.chain, bytes});
    });
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    return sound_.save_snapshot(snapshot);
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return sound_.latest_snapshot();
  }

 private:
  MemoryStore& sound_;
  Sequence damaged_;
};

TEST(Replay, GivesTheStateOfTheRun) {
  MemoryStore store;
  ASSERT_EQ(run_busy_cluster(store, 0), "");
  Controller first;
  Controller second;
  const auto end = replay(store, first);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->last, store.durable());
  EXPECT_GT(end->replayed, 500U);
  ASSERT_TRUE(replay(store, second).has_value());
  EXPECT_EQ(first.digest(), second.digest());
  EXPECT_EQ(first.state().totals.succeeded, 120U);
  first.state().ledger.check();
}

TEST(Replay, FromASnapshotEqualsReplayFromTheStart) {
  MemoryStore whole;
  MemoryStore with_snapshots;
  ASSERT_EQ(run_busy_cluster(whole, 0), "");
  ASSERT_EQ(run_busy_cluster(with_snapshots, 100), "");
  Controller from_start;
  Controller from_snapshot;
  const auto a = replay(whole, from_start);
  const auto b = replay(with_snapshots, from_snapshot);
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_LT(b->replayed, 101U);
  EXPECT_EQ(a->chain, b->chain);
  EXPECT_EQ(from_start.digest(), from_snapshot.digest());
}

TEST(Replay, NamesTheRecordWhoseBytesWereChanged) {
  MemoryStore sound;
  ASSERT_EQ(run_busy_cluster(sound, 0), "");
  DamagedStore store(sound, Sequence{77});
  Controller controller;
  const auto end = replay(store, controller);
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.errors().front().subject, "journal record 77");
}

TEST(Recompute, AgreesWithEveryRecordedPlan) {
  MemoryStore store;
  ASSERT_EQ(run_busy_cluster(store, 0), "");
  policies::Tiresias policy({});
  const auto report = recompute(store, policy);
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(report->plans, 100U);
  EXPECT_EQ(report->different, 0U) << report->first_differences.front();
}

TEST(Recompute, FindsAPolicyThatDecidesOtherwise) {
  MemoryStore store;
  ASSERT_EQ(run_busy_cluster(store, 0), "");
  policies::TiresiasParameters impatient;
  impatient.thresholds_device_s = {60};
  policies::Tiresias policy(impatient);
  const auto report = recompute(store, policy);
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(report->different, 0U);
}

}  // namespace
}  // namespace orrery
