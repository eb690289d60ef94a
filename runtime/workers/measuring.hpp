// What orrery-worker measures in place of training: the all-reduce by size, the matrix product, and
// the writing and reading of a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/workers/training.hpp"

namespace orrery::worker {

/// One size of an all-reduce.
struct MeasuredSum {
  std::int64_t bytes = 0;
  std::vector<double> times_s;
};

struct Measurement {
  double build_s = 0;  ///< From the start of the program's own work until all ranks had met.
  std::vector<MeasuredSum> sums;
  std::vector<double> multiply_s;
  std::int64_t checkpoint_bytes = 0;       ///< 0: none was written.
  std::vector<double> checkpoint_write_s;  ///< Written and made durable,
  std::vector<double> checkpoint_read_s;   ///< and read again, mostly from the system's memory.
};

/// Measures with all ranks of the job, each size after two rounds that do not count. Sizes are
/// powers of 4 from 4 KiB up to the matrices' own. With `options.checkpoint` rank 0 writes a file
/// of the largest size beside it, and removes it. Exit codes as of a training; `reason` says why.
int measure(const Options& options,
            const Place& place,
            const TrainingParts& parts,
            Measurement& out,
            std::string& reason);

}  // namespace orrery::worker
