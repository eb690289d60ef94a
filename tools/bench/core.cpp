// Events a second through driver, binary journal, digest and step, on one core.
//
//   bench_core [jobs in state ...]     20000 and 1000000 where none is given
//
// Prints one block for each number of jobs: events a second of processor time, nanoseconds by kind
// of event, both of the fastest of five equal stretches, and how that compares with the least that
// a journal costs on the same machine at the same moment: copying the journal's bytes, digesting
// them, decoding them.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/record/codec.hpp"
#include "core/record/event.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

constexpr std::uint32_t kRounds = 800;
constexpr int kTries = 5;  // The fastest counts: the others had more company on the machine.
constexpr std::uint32_t kRunningMax = 28160;  // 131,072 devices hold this many, at 4.4 on average.

// Seconds for what was measured, and how many events it was.
struct Measured {
  double seconds = 0;
  std::uint64_t events = 0;
};

// The journal's records from `first` on, as the store gives them back.
struct Journal {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> ends;
};

Journal journal_from(MemoryStore& store, Sequence first) {
  Journal journal;
  (void)store.read_from(first, [&](const StoredRecord& record) {
    journal.bytes.insert(journal.bytes.end(), record.bytes.begin(), record.bytes.end());
    journal.ends.push_back(journal.bytes.size());
    return true;
  });
  return journal;
}

template <class Visit>
double time_records(const Journal& journal, Visit&& visit) {
  const double start = thread_seconds();
  std::size_t begin = 0;
  for (const std::size_t end : journal.ends) {
    visit(std::span(journal.bytes).subspan(begin, end - begin));
    begin = end;
  }
  return thread_seconds() - start;
}

void print_baseline(const char* what, double seconds, const Measured& run) {
  const double each = seconds * 1e9 / static_cast<double>(run.events);
  std::printf("  %-44s %9.1f ns/event   the run takes %6.1f times that\n",
              what,
              each,
              run.seconds / seconds);
}

void print_baselines(const Journal& journal, const Measured& run) {
  std::vector<std::byte> copy(journal.bytes.size());
  std::size_t at = 0;
  const auto copy_record = [&](std::span<const std::byte> bytes) {
    std::memcpy(copy.data() + at, bytes.data(), bytes.size());
    at += bytes.size();
  };
  time_records(journal, copy_record);  // Once for the pages.
  at = 0;
  print_baseline("copying the journal, record by record", time_records(journal, copy_record), run);
  Digest chain;
  const auto digest_record = [&](std::span<const std::byte> bytes) {
    Digester digester(chain);
    digester.update(bytes);
    chain = digester.finish();
  };
  print_baseline("digesting it, record after record", time_records(journal, digest_record), run);
  bool sound = true;
  const double decoding = time_records(journal, [&](std::span<const std::byte> bytes) {
    digest_record(bytes);
    ByteReader in(bytes);
    Event event;
    sound = decode(in, kRecordVersion, event) && sound;
  });
  print_baseline("digesting and decoding it", decoding, run);
  if (!sound || copy.empty() || chain == Digest{}) std::puts("  the journal is damaged");
}

void print_kinds(const Tally& tally) {
  std::uint64_t all = 0;
  for (const std::uint64_t events : tally.events) all += events;
  for (std::size_t k = 0; k < tally.events.size(); ++k) {
    if (tally.events[k] == 0) continue;
    const auto events = static_cast<double>(tally.events[k]);
    std::printf("  %-24s %5.1f %% of events %9.1f ns/event\n",
                std::string(kStepNames[k]).c_str(),
                100 * events / static_cast<double>(all),
                tally.seconds[k] * 1e9 / events);
  }
}

int measure(std::uint32_t jobs) {
  const std::uint32_t running =
      std::min(jobs * 9 / 10, kRunningMax) / Script::kRound * Script::kRound;
  MemoryStore store;
  Controller controller;
  ScriptedWorld world;
  ScriptedPlanner planner;
  Driver driver(controller, world, store, planner, nullptr, {});
  Script script;
  if (!driver.apply(Script::opening())) return 1;
  world.play(script.fill_cluster(running));
  driver.run(Instant::never());
  planner.start_jobs(false);
  world.play(script.fill_queue(jobs));
  driver.run(Instant::never());
  planner.start_jobs(true);
  const State& state = controller.state();
  const std::size_t live = state.live_count();
  Measured best;
  Tally tally;
  Sequence before;
  for (int i = 0; i < kTries; ++i) {
    world.play(script.rounds(kRounds));
    before = state.sequence;
    const double start = thread_seconds();
    driver.run(Instant::never());
    const Measured run{thread_seconds() - start, state.sequence.value - before.value};
    if (i > 0 && run.seconds >= best.seconds) continue;
    best = run;
    tally = world.tally();
  }
  const bool as_told = state.live_count() == live && state.holding_count() == running;
  std::printf("%zu jobs in state, %u of them running on 131,072 devices: %.0f events/s\n",
              state.job_count(),
              running,
              static_cast<double>(best.events) / best.seconds);
  std::printf("  %llu events in %.3f s: %.1f ns/event; %llu ignored\n",
              static_cast<unsigned long long>(best.events),
              best.seconds,
              best.seconds * 1e9 / static_cast<double>(best.events),
              static_cast<unsigned long long>(state.totals.ignored));
  print_kinds(tally);
  print_baselines(journal_from(store, before.next()), best);
  if (!as_told) std::puts("  the script went astray: jobs did not start or end as it said");
  return as_told ? 0 : 1;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  std::vector<std::uint32_t> sizes;
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    const unsigned long jobs = std::strtoul(argv[i], &end, 10);
    if (*end != '\0' || jobs < 1000 || jobs > 10'000'000) {
      std::fprintf(stderr,
                   "bench_core: '%s' is no number of jobs, 1000 to 10000000 is needed; write for "
                   "example bench_core 20000 1000000\n",
                   argv[i]);
      return 2;
    }
    sizes.push_back(static_cast<std::uint32_t>(jobs));
  }
  if (sizes.empty()) sizes = {20'000, 1'000'000};
  int status = 0;
  for (const std::uint32_t jobs : sizes) status = std::max(status, orrery::bench::measure(jobs));
  return status;
}
