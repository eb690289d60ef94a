// A journal of each released record version must load, from its first record and from its snapshot,
// and say the same facts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"
#include "core/record/record_text.hpp"
#include "policies/registry.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery {
namespace {

using runtime::SqliteStore;

constexpr std::uint64_t kSnapshotEvery = 60;

std::string path_of(std::uint16_t version, const char* suffix) {
  return std::string(ORRERY_SOURCE_ROOT) + "/tests/system/journals/version_" +
         std::to_string(version) + suffix;
}

/// What version 2 knows of a job's failures.
std::string failover_facts_of(const JobFailover& failover) {
  std::ostringstream out;
  out << "  incidents " << failover.incidents;
  if (failover.open.is_open())
    out << ", open " << to_string(failover.open.scope) << " " << to_string(failover.open.cause);
  out << ", used " << failover.restarts_used << " restarts " << failover.node_losses_used
      << " node losses, job restarts " << failover.job_restarts << ", relaunched "
      << failover.nodes_relaunched << ", replicas that failed " << failover.replicas.size()
      << ", led " << to_string(failover.led) << ", limit " << to_string(failover.limit) << "\n";
  return out.str();
}

std::string facts_of(const JobState& job) {
  const JobRow& row = job.row;
  std::ostringstream out;
  out << job.spec->name << ": " << to_string(row.phase) << " " << to_string(job.reason)
      << ", generation " << row.generation.value << ", devices " << row.devices_held << ", workers "
      << job.workers.size() << ", restarts " << row.restarts << ", reschedules " << row.reschedules
      << ", preemptions " << row.preemptions << ", node losses " << row.node_losses
      << ", keys profiled " << job.profilings->size() << "\n";
  return out.str();
}

/// What version 3 knows of where workers sit and listen.
std::string seating_facts_of(const JobState& job) {
  std::ostringstream out;
  for (const Worker& worker : job.workers)
    out << "  " << worker.role.value << "/" << worker.local_rank << " on node " << worker.node.value
        << ", devices " << worker.devices << ", hardware " << worker.hardware << ", share "
        << worker.share.thousandths << ", first port " << worker.first_port << "\n";
  out << "  sizes with seats " << job.seats->size() << "\n";
  return out.str();
}

/// What version 4 knows of the origin of a job's size, and of what failed.
std::string failure_facts_of(const JobState& job) {
  std::ostringstream out;
  const JobFailover& failover = *job.failover;
  out << "  sized by its user " << job.sized_by_user << ", limit passed by " << failover.limit_rank
      << ", refused " << failover.refused_rank << " on node " << failover.refused_by.value << "\n";
  for (const WorkerFailure& failure : *job.failures)
    out << "  failed " << failure.local_rank << " on node " << failure.node.value << " at "
        << failure.at.ns << " ns: " << to_string(failure.reason) << ", exit code "
        << failure.exit_code << "\n";
  return out.str();
}

/// What a reader of the journal is asked about: totals, and each job's phase and counts.
std::string facts_of(const State& state, std::uint16_t version) {
  std::ostringstream out;
  out << "sequence " << state.sequence.value << ", epoch " << state.epoch.value << ", at "
      << state.now.ns << " ns\n"
      << "submitted " << state.totals.submitted << ", succeeded " << state.totals.succeeded
      << ", failed " << state.totals.failed << ", jobs in state " << state.job_count() << "\n";
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    const NodeState& node = state.nodes[n];
    if (node.silent) out << "node " << n << " is silent\n";
    if (version < 2) continue;
    if (node.excluded) out << "node " << n << " is excluded\n";
    if (node.spare) out << "node " << n << " is a spare\n";
    if (node.lost_device) out << "node " << n << " has lost a device\n";
    if (!node.incidents.empty()) out << "node " << n << " had incidents\n";
  }
  state.for_each_job([&](const JobState& job) {
    out << facts_of(job);
    if (version >= 2) out << failover_facts_of(*job.failover);
    if (version >= 3) out << seating_facts_of(job);
    if (version >= 4) out << failure_facts_of(job);
  });
  return out.str();
}

std::unique_ptr<SqliteStore> open(const std::string& path, SqliteStore::Access access) {
  auto store = SqliteStore::open(path, access);
  EXPECT_TRUE(store.has_value()) << store.errors()[0].text();
  return store ? std::move(*store) : nullptr;
}

/// Runs `version_N.yaml` with this program and keeps its journal as that of version N.
void record(std::uint16_t version) {
  const auto scenario = scenarios::load_scenario(path_of(version, ".yaml"), {});
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  const auto workload = sim::LoadedWorkload::load(*scenario);
  ASSERT_TRUE(workload.has_value());
  policies::PolicyArguments arguments;
  arguments.seed = scenario->seed;
  for (const scenarios::Parameter& each : scenario->policy.parameters)
    arguments.parameters[each.key] = each.value;
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  ASSERT_TRUE(policy.has_value());
  const auto store = open(path_of(version, ".db"), SqliteStore::Access::Append);
  sim::RunOptions options;
  options.store = store.get();
  options.snapshot_every = kSnapshotEvery;
  ASSERT_TRUE(sim::run_model(*scenario, *workload, **policy, options).has_value());
  ASSERT_TRUE(store->close().has_value());
}

/// Keeps what this program reads from the journal of version N; done once, when it is released.
void keep_facts(std::uint16_t version) {
  const auto store = open(path_of(version, ".db"), SqliteStore::Access::ReadOnly);
  Controller controller;
  ASSERT_TRUE(replay(*store, controller).has_value());
  std::ofstream(path_of(version, ".txt")) << facts_of(controller.state(), version);
}

class KeptJournal : public ::testing::TestWithParam<std::uint16_t> {
 protected:
  void SetUp() override {
    const std::uint16_t version = GetParam();
    if (std::getenv("ORRERY_BLESS") != nullptr && has(".yaml")) {
      if (!has(".db")) record(version);
      if (!has(".txt")) keep_facts(version);
    }
    if (has(".db")) return;
    if (version == kRecordVersion) GTEST_SKIP() << "version " << version << " is not released yet";
    FAIL() << "version " << version << " was released without " << path_of(version, ".db");
  }

  static bool has(const char* suffix) {
    return std::filesystem::exists(path_of(GetParam(), suffix));
  }

  std::string facts() const { return text_of_file(path_of(GetParam(), ".txt")); }
};

TEST_P(KeptJournal, GivesItsFactsFromTheFirstRecord) {
  const auto store = open(path_of(GetParam(), ".db"), SqliteStore::Access::ReadOnly);
  Controller controller;
  Commands unused;
  const auto end = read_journal(*store, Sequence{1}, {}, [&](Sequence, const Event& event) {
    unused.clear();
    controller.step(event, unused);
    return true;
  });
  ASSERT_TRUE(end.has_value()) << end.errors()[0].text();
  EXPECT_EQ(facts_of(controller.state(), GetParam()), facts());
  controller.state().ledger.check();
}

TEST_P(KeptJournal, GivesItsFactsFromTheSnapshot) {
  const auto store = open(path_of(GetParam(), ".db"), SqliteStore::Access::ReadOnly);
  const auto snapshots = store->snapshots();
  ASSERT_TRUE(snapshots.has_value()) << snapshots.errors()[0].text();
  ASSERT_EQ(snapshots->size(), 2u);
  for (const StoredSnapshot& snapshot : *snapshots) EXPECT_EQ(snapshot.version, GetParam());
  Controller controller;
  const auto end = replay(*store, controller);
  ASSERT_TRUE(end.has_value()) << end.errors()[0].text();
  EXPECT_EQ(end->snapshot, snapshots->back().sequence);
  EXPECT_GT(end->replayed, 0u);
  EXPECT_EQ(facts_of(controller.state(), GetParam()), facts());
  controller.state().ledger.check();
}

// The file of an old leader is continued by a new one: two record versions in one journal.
TEST_P(KeptJournal, IsContinuedByThisProgram) {
  const std::string copy =
      std::filesystem::temp_directory_path() / ("orrery-kept-" + std::to_string(getpid()) + ".db");
  std::filesystem::copy_file(
      path_of(GetParam(), ".db"), copy, std::filesystem::copy_options::overwrite_existing);
  std::string json;
  {
    const auto store = open(copy, SqliteStore::Access::Append);
    Controller controller;
    const auto end = replay(*store, controller);
    ASSERT_TRUE(end.has_value()) << end.errors()[0].text();
    const Event epoch{controller.state().now,
                      controller.state().now,
                      Origin::External,
                      EpochStarted{controller.state().epoch.next(), controller.state().settings}};
    ByteWriter bytes;
    encode(epoch, bytes);
    Digester digester(end->chain);
    digester.update(bytes.bytes());
    const StoredRecord next{end->last.next(), digester.finish(), bytes.bytes()};
    const Status appended = store->append(Epoch{2}, std::span(&next, 1));
    ASSERT_TRUE(appended.has_value()) << appended.errors()[0].text();
    ASSERT_TRUE(store->close().has_value());
    json = event_json(next.sequence.value, epoch);
  }
  const auto store = open(copy, SqliteStore::Access::ReadOnly);
  std::string last;
  const auto end = read_journal(*store, Sequence{1}, {}, [&](Sequence at, const Event& event) {
    last = event_json(at.value, event);
    return true;
  });
  ASSERT_TRUE(end.has_value()) << end.errors()[0].text();
  EXPECT_EQ(last, json);
  std::uint16_t first_version = 0;
  std::uint16_t last_version = 0;
  ASSERT_TRUE(store->read_from(Sequence{1}, [&](const StoredRecord& record) {
    if (first_version == 0) first_version = record.version;
    last_version = record.version;
    return true;
  }));
  EXPECT_EQ(first_version, GetParam());
  EXPECT_EQ(last_version, kRecordVersion);
  std::filesystem::remove(copy);
}

INSTANTIATE_TEST_SUITE_P(All,
                         KeptJournal,
                         ::testing::Range(std::uint16_t{1},
                                          static_cast<std::uint16_t>(kRecordVersion + 1)),
                         [](const auto& tested) {
                           return "Version" + std::to_string(tested.param);
                         });

}  // namespace
}  // namespace orrery
