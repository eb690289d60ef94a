// Jobs that measure a running cluster: started, waited for, read, and forgotten.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/client/session.hpp"

namespace orrery::cli {

/// How a cluster is measured.
struct ProbePlan {
  std::string worker = "orrery-worker";  ///< As the nodes find it.
  std::vector<std::int32_t> ranks{1, 2, 4};
  std::int32_t starts = 3;   ///< Of each number of ranks.
  std::int32_t rounds = 20;  ///< Of each size.
  std::int32_t size = 512;   ///< Of the matrices: the largest sum has 4 size^2 bytes.
  std::int32_t devices = 0;  ///< Of each rank.
};

/// What one job of so many ranks measured; times in seconds.
struct ProbeSum {
  std::int32_t ranks = 0;
  double bytes = 0;
  std::vector<double> times_s;
};

/// What a cluster took for all of them.
struct ProbeReport {
  std::vector<double> starts_s;    ///< From the order to all workers' readiness.
  std::vector<double> stops_s;     ///< From the order to the end of the last worker.
  std::vector<double> rescales_s;  ///< In which a worker that stayed met its group anew.
  std::vector<double> forming_s;   ///< From a change of membership until all work in it.
  std::vector<double> multiply_s;
  std::vector<double> writes_s;  ///< Of `checkpoint_bytes`,
  std::vector<double> reads_s;   ///< likewise.
  double checkpoint_bytes = 0;
  double flops = 0;    ///< Of one device; 0: not measured.
  std::string device;  ///< "cpu", "cuda: NVIDIA H200".
  std::string backend;
  std::vector<ProbeSum> sums;        ///< Of two ranks and more.
  std::vector<std::string> remarks;  ///< Sentences: what was not measured, and why.
};

/// Runs the jobs one after the other; each is told on standard error. What fails sets the session's
/// code, and nothing more is measured; the job that ran is stopped. Only of the last job, that of
/// memberships and the stop, what it does not tell is a remark.
ProbeReport run_probes(Session& session, const ProbePlan& plan);

}  // namespace orrery::cli
