// The lines of JSON between a worker and its agent; docs/workers.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "runtime/workers/place.hpp"

namespace orrery::worker {

/// Neither side takes a longer line.
inline constexpr std::size_t kLineMax = 1024 * 1024;

/// What this worker measured since it last said so.
struct Measured {
  double step_time_s = 0;       ///< Mean time of a step, above 0.
  double throughput = 0;        ///< Examples per second of the whole job.
  std::int64_t batch_size = 0;  ///< Examples per step of the whole job.
};

/// How far the job is.
struct Progress {
  double done = 0;  ///< Steps.
  double rate = 0;  ///< Steps per second.
  bool checkpointed = false;
};

/// Each without the newline.
std::string hello_line(std::string_view worker, std::string_view token);
std::string profiling_line(const Measured& measured);
std::string progress_line(const Progress& progress);

/// The failure that follows is the fault of the worker's node: it is charged, and the job starts
/// elsewhere.
std::string node_diagnosis_line(std::string_view message);

/// A membership of the job, said by the agent.
struct MembershipSaid {
  std::uint64_t generation = 0;
  std::int32_t rank = -1;  ///< -1: this worker is no member.
  std::int32_t world_size = 0;
  std::string master_address;
  std::uint16_t master_port = 0;
};

/// The membership in a line; nothing where it says something else, such as a word to a sub-master.
/// Error: it is no JSON, or a membership without a meeting point.
Result<std::optional<MembershipSaid>> membership_in(std::string_view line);

}  // namespace orrery::worker
