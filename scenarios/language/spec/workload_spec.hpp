// Where a scenario's jobs come from when they are not written out: a trace file or a generator.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/generator_spec.hpp"
#include "scenarios/language/spec/step_spec.hpp"
#include "scenarios/language/spec/trace_formats.hpp"

namespace orrery::scenarios {

/// Workloads of the Pollux artifact: a job list and the measured profiles of its applications.
struct PolluxWorkload {
  std::string file;      ///< The job list (CSV), as a path that can be opened.
  std::string profiles;  ///< Directory with one folder per application; empty: by model.
  /// The same for each device model of the cluster, by its name.
  std::map<std::string, std::string> profiles_by_model;
  std::int64_t limit = 0;  ///< Only the first so many jobs; 0: all.
};

/// What policies are told about how long a job of a trace runs.
enum class TraceEstimates : std::uint8_t {
  None,    ///< Nothing.
  Oracle,  ///< The recorded duration.
  Stated,  ///< What the trace foretold, else the recorded duration; marked as stated by the user.
};

/// Jobs of a public trace.
struct TraceWorkload {
  const TraceFormat* format = &kTraceFormats[0];  ///< A row of that table.
  std::string file;
  std::int64_t limit = 0;              ///< Only the first so many jobs by submission; 0: all.
  OddRows duplicates = OddRows::Keep;  ///< Rows that are equal in every column.
  OddRows zero_gpus = OddRows::Keep;   ///< Jobs that need no device.
  OddRows censored = OddRows::Drop;    ///< Jobs whose end is unknown.
  TraceEstimates estimates = TraceEstimates::Oracle;
  bool preemptible = true;         ///< Whether policies may take devices back from these jobs.
  bool host_resources = true;      ///< Whether cores and memory are asked for, where known.
  std::string throughputs;         ///< Gavel: table of steps a second; empty: none.
  std::string speeds_of = "v100";  ///< Gavel: the device model whose speeds count.
  /// Above 0: the times of the trace do not count. Its jobs come in random order, one a second and
  /// without an end, until they have asked for so many times the devices of the cluster; one that
  /// finds no room is given up.
  double fill = 0;
};

/// For so long a scenario with `fill` runs where it does not say `until`.
inline constexpr Duration kFillLasts = Duration::seconds(std::int64_t{30} * 24 * 3600);

/// Jobs of the Shockwave artifact, which change their batch while they train.
struct ShockwaveWorkload {
  std::string file;                ///< The trace, as a path that can be opened.
  std::string throughputs;         ///< Table of steps a second by job type, batch and GPUs.
  std::string speeds_of = "v100";  ///< The device model whose speeds count.
  std::int64_t limit = 0;          ///< Only the first so many jobs by submission; 0: all.
  TraceEstimates estimates = TraceEstimates::Oracle;  ///< Stated: the trace's own duration.
  bool preemptible = true;  ///< Whether policies may take devices back from these jobs.
};

/// Jobs made from a seed.
struct GeneratorWorkload {
  GeneratorSpec spec;     ///< Checked; `spec.seed` counts only with `own_seed`.
  bool own_seed = false;  ///< Otherwise the scenario's seed is the generator's.
  std::shared_ptr<const TrafficSpec> traffic;         ///< What every job sends; null: nothing.
  TraceEstimates estimates = TraceEstimates::Stated;  ///< Stated: with the spec's error.
};

/// A workload of Batsim, and the machines that its events take and give back.
struct BatsimWorkload {
  std::string file;        ///< The JSON workload.
  std::string events;      ///< One JSON object a line; empty: none.
  bool strict = false;     ///< Only names of v5.
  double host_flops = 0;   ///< Of each host, per second; 0: as the platform file says.
  std::int64_t limit = 0;  ///< Only the first so many jobs by submission; 0: all.
};

/// Jobs of ElastiSim.
struct ElastisimWorkload {
  std::string file;       ///< Its configuration, or its list of jobs.
  std::string root;       ///< Where paths inside its files begin; empty: the file's own folder.
  double host_flops = 0;  ///< Of each node's processors, per second; 0: as the platform file says.
  double gpu_flops = 0;   ///< Of each GPU, per second; needed where tasks compute on GPUs.
  double burst_buffer = 0;  ///< Bytes per second of each node's, each way; 0: it takes no time.
  std::int64_t limit = 0;   ///< Only the first so many jobs by submission; 0: all.
};

using Workload = std::variant<std::monostate,
                              PolluxWorkload,
                              TraceWorkload,
                              ShockwaveWorkload,
                              GeneratorWorkload,
                              BatsimWorkload,
                              ElastisimWorkload>;

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::TraceEstimates> {
  static constexpr std::array kNames{"none", "oracle", "stated"};
};

}  // namespace orrery
