// Workloads of ElastiSim as their files say them: configuration, jobs, application models.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "sim/import/formula.hpp"

namespace orrery::sim {

/// An amount: a number, a formula, or one number for each rank (or pair of ranks).
using ElastisimAmount = std::variant<std::monostate, double, std::string, std::vector<double>>;

enum class ElastisimTaskKind : std::uint8_t {
  Cpu,
  Gpu,
  PfsRead,
  PfsWrite,
  BurstBufferRead,
  BurstBufferWrite,
  BusyWait,
  Idle,
  Sequence,
};

/// How an amount is shared out to ranks.
enum class ElastisimVector : std::uint8_t {
  AllRanks,  ///< Equal parts.
  Total,     ///< The same.
  RootOnly,
  EvenRanks,  ///< Equal parts to ranks 0, 2, ...
  OddRanks,
  Uniform,  ///< The whole amount to each.
  Vector,   ///< As listed.
};

/// How bytes go from rank to rank; the amount is of all together.
enum class ElastisimMatrix : std::uint8_t {
  AllToAll,
  Gather,
  Scatter,
  MasterWorker,
  Ring,
  RingClockwise,
  RingCounterClockwise,
  Matrix,  ///< As listed, row by row.
};

struct ElastisimTask {
  ElastisimTaskKind kind = ElastisimTaskKind::Cpu;
  std::string name;  ///< May be empty.
  int line = 0;
  ElastisimAmount iterations;  ///< None: 1.
  ElastisimAmount amount;      ///< Cpu, Gpu: flops. Waits: seconds. Input and output: bytes.
  ElastisimVector pattern = ElastisimVector::AllRanks;        ///< Of `amount`.
  ElastisimAmount bytes;                                      ///< Cpu, Gpu: sent between ranks,
  ElastisimMatrix communication = ElastisimMatrix::AllToAll;  ///< in this way.
  bool coupled = false;              ///< Cpu: compute and communication advance in step.
  bool async = false;                ///< Input and output: later tasks do not wait for it.
  std::vector<ElastisimTask> tasks;  ///< Sequence: at least one.
};

struct ElastisimPhase {
  ElastisimAmount iterations;  ///< None: 1.
  std::string evolving_request;
  std::vector<ElastisimTask> tasks;
};

/// What jobs do, as formulas of their arguments.
struct ElastisimApplication {
  std::string file;
  std::optional<ElastisimPhase> on_init;
  std::optional<ElastisimPhase> on_reconfiguration;
  std::optional<ElastisimPhase> on_expansion;
  std::vector<ElastisimPhase> phases;  ///< At least one.
};

enum class ElastisimType : std::uint8_t { Rigid, Moldable, Malleable, Evolving, Adaptive };

struct ElastisimJob {
  int line = 0;
  ElastisimType type = ElastisimType::Rigid;
  double submit_s = 0;
  std::int32_t nodes_min = 1;  ///< Rigid: the same as `nodes_max`.
  std::int32_t nodes_max = 1;
  std::int32_t gpus_min = 0;  ///< Of each node; rigid: the same as `gpus_max`.
  std::int32_t gpus_max = 0;
  std::optional<double> walltime_s;
  std::string application;  ///< Path of its model, as written.
  FormulaValues arguments;
};

struct ElastisimJobs {
  std::string file;
  std::vector<ElastisimJob> jobs;  ///< In the order of the file; job i is called "i", from 0.
};

/// What of a configuration is about the workload.
struct ElastisimConfiguration {
  std::string jobs_file;      ///< As written.
  std::string platform_file;  ///< As written; may be empty.
};

/// Whether `text` is a configuration rather than a list of jobs.
bool is_elastisim_configuration(std::string_view text);

/// Readers. `text` is the whole file, `file` serves messages. Errors: everything that is wrong,
/// with its line. Keys that the format does not know are passed over.
Result<ElastisimConfiguration> parse_elastisim_configuration(std::string_view text,
                                                             const std::string& file);
Result<ElastisimJobs> parse_elastisim_jobs(std::string_view text, const std::string& file);
Result<ElastisimApplication> parse_elastisim_application(std::string_view text,
                                                         const std::string& file);

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::ElastisimTaskKind> {
  static constexpr std::array kNames{"cpu",
                                     "gpu",
                                     "pfs_read",
                                     "pfs_write",
                                     "bb_read",
                                     "bb_write",
                                     "busy_wait",
                                     "idle",
                                     "sequence"};
};

template <>
struct orrery::EnumNames<orrery::sim::ElastisimVector> {
  static constexpr std::array kNames{
      "all_ranks", "total", "root_only", "even_ranks", "odd_ranks", "uniform", "vector"};
};

template <>
struct orrery::EnumNames<orrery::sim::ElastisimMatrix> {
  static constexpr std::array kNames{"all_to_all",
                                     "gather",
                                     "scatter",
                                     "master_worker",
                                     "ring",
                                     "ring_clockwise",
                                     "ring_counter_clockwise",
                                     "matrix"};
};

template <>
struct orrery::EnumNames<orrery::sim::ElastisimType> {
  static constexpr std::array kNames{"rigid", "moldable", "malleable", "evolving", "adaptive"};
};
