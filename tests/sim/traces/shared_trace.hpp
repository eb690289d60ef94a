// Files of the public traces, which lie beside the project.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "sim/traces/formats.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::sim {

inline std::filesystem::path shared_traces() {
  return std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/traces";
}

inline std::optional<std::string> file_text(const std::filesystem::path& path) {
  if (!std::ifstream(path)) return std::nullopt;
  return text_of_file(path);
}

/// The text of a public trace; nothing where it is not here.
inline std::optional<std::string> shared_trace(const std::string& name) {
  return file_text(shared_traces() / name);
}

/// Every row is a job, odd ones too.
inline const TraceOptions kKeepAll = {.zero_gpus = OddRows::Keep, .censored = OddRows::Keep};

/// Reads a public trace as the program does: the format by its look, tables by their names.
inline Result<Trace> read_shared(const std::string& name,
                                 const TraceOptions& options = {},
                                 const std::string& throughputs = "") {
  std::string text = *shared_trace(name);
  const TraceFormat* format = recognise_trace(text);
  if (format == nullptr) return Error{.file = name, .message = "no format knows it"};
  return read_trace(*format,
                    name,
                    std::move(text),
                    throughputs,
                    options,
                    [](const std::string& path, std::string_view) -> Result<std::string> {
                      if (auto found = shared_trace(path)) return std::move(*found);
                      return Error{.code = ErrorCode::NotFound, .file = path, .message = "absent"};
                    });
}

/// Every row counts, and every job holds what a reader promises; `errors` on failure.
inline void expect_accounted(const Result<Trace>& trace) {
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  EXPECT_EQ(trace->report.rows, trace->report.jobs + trace->report.dropped());
  EXPECT_EQ(trace->report.jobs, trace->jobs.size());
  for (const TraceJob& job : trace->jobs) {
    ASSERT_GE(job.duration, Duration::seconds(1));
    ASSERT_GE(job.submit, Instant::zero());
    ASSERT_GE(job.instances, 1);
    ASSERT_LE(job.gpu_milli, std::int64_t{1000} * job.gpus);
    ASSERT_EQ(job.gpu_milli == 0, job.gpus == 0);
  }
}

}  // namespace orrery::sim
