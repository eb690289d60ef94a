// How long a journal takes to come back: replay of a million records, and recovery of a controller.
//
//   bench_journal [records [live jobs]]     1000000 and 10000 where none is given
//
// Replay folds a journal from its first record, from memory and from a SQLite file. Recovery is
// what a new leader does: it loads the snapshot, replays the tail, takes the next epoch, and
// reconciles against the complete lists of all nodes until no job is Unknown; every step is
// journaled and its orders issued. Both are compared with the least that reading a journal costs,
// measured in the same run: chaining the digests of the same records and decoding them.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/driver/replay.hpp"
#include "core/record/codec.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

using runtime::SqliteStore;

constexpr int kTries = 5;  // The fastest counts: the others had more company on the machine.
constexpr std::uint32_t kTailRecords = 20'000;  // Between the snapshot and the crash.
constexpr double kReplayBar = 2.0;
constexpr double kRecoveryBar = 0.3;

/// Time that passed outside and on this thread's processor.
struct Time {
  double wall = 1e9;
  double processor = 1e9;
};

class Watch {
 public:
  Time time() const {
    const auto passed = std::chrono::steady_clock::now() - wall_;
    return {std::chrono::duration<double>(passed).count(), thread_seconds() - processor_};
  }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  double processor_ = thread_seconds();
};

/// A file that is gone when the program ends.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("orrery-bench-" + std::to_string(getpid()) + "-" + name)) {}

  ~ScratchFile() {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int fail(const std::string& what, const Errors& errors) {
  std::fprintf(stderr, "bench_journal: %s: %s\n", what.c_str(), errors.front().text().c_str());
  return 1;
}

/// A journal of the script in memory, with the controller that wrote it.
struct Recorded {
  MemoryStore store;
  Controller controller;
  ScriptedWorld world;
  ScriptedPlanner planner;
  Driver driver{controller, world, store, planner, nullptr, {}};
  Script script;

  /// Jobs that run and jobs that wait; then rounds until so many records are there.
  bool record(std::uint32_t running, std::uint32_t live, std::uint64_t records) {
    if (!driver.apply(Script::opening())) return false;
    play(script.fill_cluster(running));
    planner.start_jobs(false);
    play(script.fill_queue(live));
    planner.start_jobs(true);
    while (driver.events() < records) play(script.rounds(1));
    return true;
  }

  void play(std::vector<Batch> batches) {
    world.play(std::move(batches));
    driver.run(Instant::never());
  }

  Status save_snapshot(StateStore& to) const {
    ByteWriter bytes;
    controller.state().save(bytes);
    StoredSnapshot snapshot{controller.state().sequence, driver.chain(), kRecordVersion, {}};
    snapshot.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
    return to.save_snapshot(snapshot);
  }
};

Status copy_records(StateStore& from, Sequence first, StateStore& to) {
  Status copied = Done{};
  const Status read = from.read_from(first, [&](const StoredRecord& record) {
    copied = to.append(Epoch{1}, std::span(&record, 1));
    return copied.has_value();
  });
  if (!read) return read;
  if (!copied) return copied;
  return to.sync();
}

/// The least: every record's digest chained, every event decoded.
double reading_seconds(StateStore& store) {
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const Watch watch;
    const auto end =
        read_journal(store, Sequence{1}, Digest{}, [](Sequence, const Event&) { return true; });
    if (!end) return 0;
    best = std::min(best, watch.time().processor);
  }
  return best;
}

bool print(const char* what, Time time, std::uint64_t records, double reading, double bar) {
  std::printf(
      "  %-28s %7.3f s, %7.3f s of processor; %6.0f ns a record; %4.1f times reading it; "
      "bar %.1f s: %s\n",
      what,
      time.wall,
      time.processor,
      time.processor * 1e9 / static_cast<double>(records),
      time.processor / reading,
      bar,
      time.processor < bar ? "held" : "MISSED");
  return time.processor < bar;
}

Result<Time> time_replay(StateStore& store, Digest expected) {
  Time best;
  for (int i = 0; i < kTries; ++i) {
    const auto controller = std::make_unique<Controller>();
    const Watch watch;
    const auto end = replay(store, *controller);
    const Time time = watch.time();
    if (!end) return end.errors();
    if (controller->digest() != expected)
      return Error{.subject = "replay", .message = "led to another state"};
    best = {std::min(best.wall, time.wall), std::min(best.processor, time.processor)};
  }
  return best;
}

int measure_replay(std::uint64_t records) {
  const auto recorded = std::make_unique<Recorded>();
  if (!recorded->record(17'984, 20'032, records)) return 1;
  const std::uint64_t written = recorded->driver.events();
  const Digest state = recorded->controller.digest();
  const double reading = reading_seconds(recorded->store);
  std::printf("replay of %llu records, %zu jobs in state at the end (reading alone %.3f s)\n",
              static_cast<unsigned long long>(written),
              recorded->controller.state().job_count(),
              reading);
  const auto memory = time_replay(recorded->store, state);
  if (!memory) return fail("memory", memory.errors());
  bool held = print("from memory", *memory, written, reading, kReplayBar);
  const ScratchFile file("replay.db");
  auto store = SqliteStore::open(file.path(), SqliteStore::Access::Append);
  if (!store) return fail("SQLite", store.errors());
  const Watch writing;
  if (Status copied = copy_records(recorded->store, Sequence{1}, **store); !copied)
    return fail("SQLite", copied.errors());
  const Time written_in = writing.time();
  const auto sqlite = time_replay(**store, state);
  if (!sqlite) return fail("SQLite", sqlite.errors());
  held = print("from SQLite", *sqlite, written, reading, kReplayBar) && held;
  std::printf("  writing it to SQLite took %.3f s; the file has %.1f MB\n",
              written_in.wall,
              static_cast<double>(std::filesystem::file_size(file.path())) / 1e6);
  return held ? 0 : 1;
}

/// What every node would say of itself, all of it alive.
std::vector<Event> complete_lists(const State& state) {
  std::vector<NodeReturned> lists(state.nodes.size());
  for (std::uint32_t n = 0; n < lists.size(); ++n) lists[n].node = NodeId{n};
  state.for_each_job([&](const JobState& job) {
    for (const Worker& worker : job.workers)
      if (worker.is_alive())
        lists[worker.node.index()].workers.push_back(
            {job.row.id, worker.born, worker.incarnation, worker.birth_rank});
  });
  std::vector<Event> events;
  for (NodeReturned& list : lists)
    events.push_back({state.now, state.now, Origin::External, std::move(list)});
  return events;
}

std::uint32_t unknown_jobs(const State& state) {
  std::uint32_t unknown = 0;
  state.for_each_job([&](const JobState& job) { unknown += job.row.phase == JobPhase::Unknown; });
  return unknown;
}

/// Recovery, part by part.
struct Recovery {
  Time all;
  double replay = 0;     ///< Snapshot and tail.
  double epoch = 0;      ///< Taking the epoch, which makes every job Unknown.
  double reconcile = 0;  ///< All lists.
  std::uint64_t orders = 0;
};

Result<Recovery> recover_once(StateStore& store, std::vector<Event> lists) {
  const auto controller = std::make_unique<Controller>();
  ScriptedWorld world;
  ScriptedPlanner planner;
  planner.start_jobs(false);
  Driver driver(*controller, world, store, planner, nullptr, {});
  Recovery out;
  const Watch watch;
  const auto end = replay(store, *controller);
  if (!end) return end.errors();
  driver.continue_from(end->chain, end->snapshot);
  out.replay = watch.time().processor;
  const State& state = controller->state();
  const Event epoch{
      state.now, state.now, Origin::External, EpochStarted{state.epoch.next(), state.settings}};
  if (Status begun = driver.apply({epoch}); !begun) return begun.errors();
  if (Status durable = store.sync(); !durable) return durable.errors();
  out.epoch = watch.time().processor - out.replay;
  if (unknown_jobs(state) == 0)
    return Error{.subject = "recovery", .message = "no job was Unknown, so nothing was measured"};
  if (Status heard = driver.apply(std::move(lists)); !heard) return heard.errors();
  if (Status durable = store.sync(); !durable) return durable.errors();
  out.all = watch.time();
  out.reconcile = out.all.processor - out.replay - out.epoch;
  out.orders = world.orders();
  if (unknown_jobs(state) > 0)
    return Error{.subject = "recovery", .message = "jobs are still Unknown"};
  return out;
}

/// Where the journal of a recovery lies.
enum class Where { Memory, File };

/// Each recovery writes to the journal, so each has a copy of its own.
Result<Recovery> time_recovery(Recorded& recorded, const StoredSnapshot& snapshot, Where where) {
  Recovery best;
  const std::vector<Event> lists = complete_lists(recorded.controller.state());
  for (int i = 0; i < kTries; ++i) {
    std::unique_ptr<StateStore> store = std::make_unique<MemoryStore>();
    std::optional<ScratchFile> file;
    if (where == Where::File) {
      file.emplace("recovery-" + std::to_string(i) + ".db");
      auto opened = SqliteStore::open(file->path(), SqliteStore::Access::Append);
      if (!opened) return opened.errors();
      store = std::move(*opened);
    }
    if (Status copied = copy_records(recorded.store, Sequence{1}, *store); !copied)
      return copied.errors();
    if (Status saved = store->save_snapshot(snapshot); !saved) return saved.errors();
    auto once = recover_once(*store, lists);
    if (!once) return once.errors();
    if (once->all.processor < best.all.processor) {
      const double wall = std::min(best.all.wall, once->all.wall);
      best = *once;
      best.all.wall = wall;
    }
  }
  return best;
}

bool print(const char* what, const Recovery& recovery, std::uint32_t jobs) {
  std::printf("  %-28s %7.3f s, %7.3f s of processor; %6.0f ns a job; bar %.1f s: %s\n",
              what,
              recovery.all.wall,
              recovery.all.processor,
              recovery.all.processor * 1e9 / jobs,
              kRecoveryBar,
              recovery.all.processor < kRecoveryBar ? "held" : "MISSED");
  std::printf("    snapshot and tail %.3f s, epoch %.3f s, complete lists %.3f s; %llu orders\n",
              recovery.replay,
              recovery.epoch,
              recovery.reconcile,
              static_cast<unsigned long long>(recovery.orders));
  return recovery.all.processor < kRecoveryBar;
}

int measure_recovery(std::uint32_t jobs) {
  const auto recorded = std::make_unique<Recorded>();
  const std::uint32_t running = jobs * 9 / 10 / Script::kRound * Script::kRound;
  if (!recorded->record(running, jobs, 0)) return 1;
  MemoryStore snapshots;
  if (!recorded->save_snapshot(snapshots)) return 1;
  const auto snapshot = snapshots.latest_snapshot();
  const std::uint64_t before = recorded->driver.events();
  while (recorded->driver.events() < before + kTailRecords)
    recorded->play(recorded->script.rounds(1));
  const State& state = recorded->controller.state();
  std::printf(
      "recovery with %zu live jobs, %zu of them running on %zu nodes: snapshot of %.1f MB, "
      "tail of %llu records\n",
      state.live_count(),
      state.holding_count(),
      state.nodes.size(),
      static_cast<double>((*snapshot)->bytes.size()) / 1e6,
      static_cast<unsigned long long>(recorded->driver.events() - before));
  const auto memory = time_recovery(*recorded, **snapshot, Where::Memory);
  if (!memory) return fail("memory", memory.errors());
  const auto sqlite = time_recovery(*recorded, **snapshot, Where::File);
  if (!sqlite) return fail("SQLite", sqlite.errors());
  const bool in_memory = print("from memory", *memory, jobs);
  const bool in_file = print("from SQLite", *sqlite, jobs);
  return in_memory && in_file ? 0 : 1;
}

bool read_number(const char* text, std::uint64_t low, std::uint64_t high, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(text, &end, 10);
  if (*end == '\0' && out >= low && out <= high) return true;
  std::fprintf(stderr,
               "bench_journal: '%s' found, %llu to %llu needed; write for example bench_journal "
               "1000000 10000\n",
               text,
               static_cast<unsigned long long>(low),
               static_cast<unsigned long long>(high));
  return false;
}

int run(int argc, char** argv) {
  std::uint64_t records = 1'000'000;
  std::uint64_t jobs = 10'000;
  if (argc > 1 && !read_number(argv[1], 100'000, 100'000'000, records)) return 2;
  if (argc > 2 && !read_number(argv[2], 1000, 30'000, jobs)) return 2;
  const int replayed = measure_replay(records);
  const int recovered = measure_recovery(static_cast<std::uint32_t>(jobs));
  return std::max(replayed, recovered);
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) { return orrery::bench::run(argc, argv); }
