// Reader of Alibaba PAI's tables of jobs, tasks, instances and groups.
#pragma once

#include <array>
#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// The tables of one trace; a null pointer is a table that is not there.
struct PaiTables {
  const TraceFile* jobs = nullptr;       ///< Needed.
  const TraceFile* tasks = nullptr;      ///< Needed.
  const TraceFile* groups = nullptr;     ///< Wanted models and kinds of work.
  const TraceFile* instances = nullptr;  ///< Starts of instances, where tasks have none.
};

/// Whether `text` begins like the table of jobs: six fields, the fourth a status.
bool looks_like_pai_jobs(std::string_view text);

/// Reads CSV tables without names of columns:
///
///     jobs       job_name, inst_id, user, status, start_time, end_time
///     tasks      job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem,
///                plan_gpu, gpu_type
///     groups     inst_id, user, gpu_type_spec, group, workload
///     instances  job_name, task_name, inst_name, worker_name, inst_id, status, start_time,
///                end_time, machine
///
/// Times are seconds since the trace's zero; plan_cpu and plan_gpu are percent of a core and of a
/// GPU, plan_mem GB, all of one instance. A job enters at its start_time and runs from the first
/// start of its tasks to its end_time; without that it is censored, and without a start dropped.
/// Requests of all tasks are added; `instances` are those that hold GPUs, or all where none does.
/// Rows of other tables whose job is unknown are counted as dropped rows.
Result<Trace> parse_pai_tables(const PaiTables& tables, const TraceOptions& options = {});

template <>
struct TraceReader<"pai"> {
  static constexpr std::array<TraceTable, 3> kTables = {{{"tasks", "pai_task_table.csv", true},
                                                         {"groups", "pai_group_tag_table.csv"},
                                                         {"instances", "pai_instance_table.csv"}}};

  static bool looks_like(std::string_view text) { return looks_like_pai_jobs(text); }

  static Result<Trace> read(TraceFiles files, const TraceOptions& options);
};

}  // namespace orrery::sim
