// A Batsim workload as its file says it: jobs on opaque hosts, and profiles of what they do there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::sim {

/// A fixed time, whatever the hosts.
struct BatsimDelay {
  double seconds = 0;
};

/// Work and bytes host by host.
struct BatsimParallel {
  std::vector<double> cpu;  ///< Floating point operations of each host; empty: none.
  std::vector<double> com;  ///< Bytes from host `row` to host `column`, row by row; empty: none.

  /// Hosts that the profile is for.
  std::size_t hosts() const;
};

/// What the amounts of a homogeneous profile mean.
enum class BatsimSpread : std::uint8_t {
  EachValue,  ///< Each host computes `cpu`, each sends `com` to each other.
  Uniform,    ///< All hosts together compute `cpu`, all pairs together send `com`.
  EachHost,   ///< Before v5: all compute `cpu`, each pair sends `com` / hosts.
};

/// The same work for every host.
struct BatsimHomogeneous {
  double cpu = 0;
  double com = 0;
  BatsimSpread spread = BatsimSpread::EachValue;
};

/// Other profiles one after the other, all of it `repeat` times.
struct BatsimSequence {
  std::vector<std::string> names;    ///< Of the parts, as written.
  std::vector<std::uint32_t> parts;  ///< Their indices in `BatsimFile::profiles`.
  std::int64_t repeat = 1;           ///< At least 1.
};

/// Every host reads and writes.
struct BatsimStorage {
  double read = 0;      ///< Bytes,
  double write = 0;     ///< bytes,
  bool spread = false;  ///< of all hosts together; otherwise of each.
  std::string storage;  ///< Label; may be empty.
};

/// Bytes from one storage to another; no host takes part.
struct BatsimStaging {
  double bytes = 0;
  std::string from;
  std::string to;
};

/// What only Batsim itself can run: recorded traces, and messages to its scheduler.
struct BatsimForeign {
  std::string what;  ///< "trace replay", "messages to the scheduler".
};

struct BatsimProfile {
  std::string name;
  int line = 0;
  std::int32_t exit_code = 0;  ///< `ret`.
  std::variant<BatsimDelay,
               BatsimParallel,
               BatsimHomogeneous,
               BatsimSequence,
               BatsimStorage,
               BatsimStaging,
               BatsimForeign>
      what;
};

/// What `extra_data` may say about devices and sizes; docs/import.md.
struct BatsimExtra {
  std::optional<std::int32_t> gpus_per_host;
  std::string gpu_model;
  std::optional<std::int32_t> res_min;
  std::optional<std::int32_t> res_max;
};

struct BatsimJob {
  std::string id;  ///< A number is kept as it is written.
  int line = 0;
  double submit_s = 0;
  std::int32_t hosts = 0;
  std::uint32_t profile = 0;  ///< Index in `BatsimFile::profiles`.
  std::optional<double> walltime_s;
  BatsimExtra extra;
};

struct BatsimFile {
  std::string file;
  std::int64_t hosts = 0;       ///< `nb_res`.
  std::vector<BatsimJob> jobs;  ///< In the order of the file.
  std::vector<BatsimProfile> profiles;
  std::vector<std::string> old_names;  ///< Types of before v5 that were mapped, sorted.
};

/// Which names of profile types are read.
enum class BatsimNames : std::uint8_t {
  Lenient,  ///< Those of v5 and of every version before it.
  Strict,   ///< Those of v5; others are errors that name them.
};

/// Longest time of a workload: 100 years, in seconds.
inline constexpr double kBatsimSecondsMax = 100.0 * 365 * 24 * 3600;

/// Reads a workload. `text` is the whole file, `file` serves messages. Errors: everything wrong
/// with jobs and profiles, with its line. Keys that the format does not know are passed over.
Result<BatsimFile> parse_batsim(std::string_view text,
                                const std::string& file,
                                BatsimNames names = BatsimNames::Lenient);

}  // namespace orrery::sim
