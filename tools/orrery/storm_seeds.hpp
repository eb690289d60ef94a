// Many seeds of a storm, spread over processes: counted, resumed, and a seed that ends its process
// told from those beside it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/coverage_mark.hpp"
#include "core/base/digest.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "tools/console/arguments.hpp"
#include "tools/orrery/progress.hpp"

namespace orrery::cli {

/// A seed that failed.
struct StormFinding {
  std::uint64_t seed = 0;
  std::string kind;  ///< As `to_string(sim::ViolationKind)` says it.
  Instant at;        ///< Of the simulated world.
  std::string text;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("seed", self.seed);
    v.field("kind", self.kind);
    v.field("at", self.at);
    v.field("text", self.text);
  }

  friend bool operator==(const StormFinding&, const StormFinding&) = default;
};

/// The kind of a finding that ended its process.
inline constexpr std::string_view kProcessEnded = "process_ended";

/// What some seeds gave. Figures of disjoint seeds add up.
struct StormFigures {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;   ///< Inputs of controllers, agents and ears.
  std::uint64_t records = 0;  ///< Of those, stepped by controllers.
  std::uint64_t leaders = 0;
  std::uint64_t simulated_us = 0;  ///< Whole microseconds, so that the order of sums is nothing.
  double processor_s = 0;
  std::vector<std::uint64_t> marks;       ///< How often each mark was reached,
  std::vector<std::uint64_t> mark_seeds;  ///< and in how many seeds.
  std::vector<StormFinding> findings;     ///< At most one a seed.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("seeds", self.seeds);
    v.field("events", self.events);
    v.field("records", self.records);
    v.field("leaders", self.leaders);
    v.field("simulated_us", self.simulated_us);
    v.field("processor_s", self.processor_s);
    v.field("marks", self.marks);
    v.field("mark_seeds", self.mark_seeds);
    v.field("findings", self.findings);
  }

  double simulated_s() const { return static_cast<double>(simulated_us) / 1e6; }

  void add(const StormFigures& other);
};

/// What one seed gave.
struct SeedOutcome {
  std::uint64_t events = 0;
  std::uint64_t records = 0;
  std::uint64_t leaders = 0;
  Duration simulated;
  std::vector<StormFinding> findings;  ///< None or one.
  bool spoils_process = false;         ///< The next seed needs a fresh process.
};

/// Runs one seed, in a process that may have run others before.
using RunSeed = std::function<SeedOutcome(std::uint64_t seed)>;

/// What is to be done.
struct StormWork {
  SeedRange seeds;
  std::size_t parallel = 1;  ///< Processes at a time.
  RunSeed run;
  /// Where it is kept which seeds are done; empty: nowhere. Its folder is there.
  std::filesystem::path progress_file;
  Digest program;  ///< Results of another one do not count.
  /// Processor time after which one seed is taken to run for ever; its process ends.
  int seed_processor_s = 120;
  /// Asked before each seed, in the processes too; false: no further seed is begun.
  std::function<bool()> go_on = [] { return true; };
  std::function<void(const Progress&)> show = [](const Progress&) {};
};

/// What came of it.
struct StormDone {
  StormFigures figures;       ///< Of all parts; findings by seed.
  std::uint64_t resumed = 0;  ///< Seeds that an earlier process had done.
  bool complete = false;      ///< All seeds are done.
};

/// Seeds after whose findings no further seed is begun: too much is broken to go on.
inline constexpr std::size_t kStormFindingsMax = 1000;

/// Does all seeds, in processes that are forked; those that `progress_file` tells as done by an
/// earlier process are only added. The file is written every second, and at the end; a caller that
/// has taken the results removes the file.
///
/// A seed that ends its process is run again in a process that runs nothing before it. Where that
/// ends too, the seed is a finding of the kind `kProcessEnded`; where it does not, the seed counts
/// as what it gave then, and what had ended the process is a finding unless it was killed from
/// outside. The seeds behind it are done in another process. The caller must have no other thread.
StormDone run_storm_seeds(const StormWork& work);

}  // namespace orrery::cli
