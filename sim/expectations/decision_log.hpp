// The canonical decision log: what was decided for each job, without times, so that runs of
// different worlds can be compared line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/record/command.hpp"

namespace orrery::sim {

/// Collects the notices of a run by job.
///
/// The text has one block per job in the order of submission, then one for what belongs to no job:
///
///     job default.train
///       Pending  Submitted
///       allocated 4 workers, 4 devices
///       generation 1: Starting  Granted
///       ready 0-3
///       generation 1: Running  AllReady
///       exited 0 of rank 2
///       restarts 1
///       ignored workers_changed: StaleGeneration (2 times)
///
/// Inside a block the order is that of the notices; reports of workers that follow one another are
/// joined by kind and sorted by rank, equal lines of ignored reports counted, for their order
/// inside one instant is the world's. Reports of workers that an agent only repeats are left out.
class DecisionLog {
 public:
  /// A job got its id. Before the first notice about it; `name` is its full name.
  void on_job(JobId job, std::string_view name);

  /// Every notice, in the order in which the core gave them. `chosen`: the candidate of a notice
  /// that a policy of several has chosen one.
  void on_notice(const Notice& notice, std::string_view chosen = {});

  /// The whole log; lines end in "\n".
  std::string text() const;

 private:
  /// A run of reports of one kind about workers of one job.
  struct Reports {
    WorkerFact fact = WorkerFact::Ready;
    std::int32_t exit_code = 0;
    std::vector<std::uint32_t> ranks;
  };

  struct Block {
    std::string name;
    std::vector<std::string> lines;
    Reports reports;  ///< Not yet written; empty ranks: none.
  };

  Block& block_of(JobId job);
  static void flush(Block& block);
  static void add_line(Block& block, std::string line);
  static void add_reports(Block& block, const Notice& notice);

  std::vector<Block> jobs_;  ///< By job id.
  Block cluster_;            ///< What belongs to no job.
};

/// A job about which two logs differ, with the first line that does.
struct DecisionDifference {
  std::string job;
  std::string found;     ///< In the first log; empty: its block ends before.
  std::string expected;  ///< In the other one; likewise.
  std::string after;     ///< The last line that both have; empty: none.
};

/// How what was decided for each job in `found` differs from `expected`, both texts of logs, in the
/// order of `expected`: phases, reasons, generations, ranks, allocations, counters, what users
/// asked in vain. Not compared is what belongs to no job, and what tells only of the moment at
/// which something was said: reports that come too late, grants that do not fit just then, the ends
/// of incidents, which several jobs may share, the ends of processes of a job that is over. Reports
/// of workers that only such lines part are joined.
std::vector<DecisionDifference> decision_differences(std::string_view found,
                                                     std::string_view expected);

}  // namespace orrery::sim
