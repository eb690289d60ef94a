// Into which rows a job falls: one, or one for each stretch of constant allocation.
#pragma once

#include <cstdint>

#include "sim/reports/timeline.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// One row of a job in evalys.csv.
struct JobRowSpan {
  Instant submitted;                    ///< Of the job; after its first row, the end before.
  Instant started = Instant::never();   ///< Never: it never started.
  Instant finished = Instant::never();  ///< Never: the run ended first.
  const Segment* segment = nullptr;     ///< Null: nothing was held, or it is not known.
};

/// When a segment is over for good; never where the run's end cut it off.
inline Instant end_of(const Segment& segment, const JobOutcome& job, bool last) {
  return last && !job.is_over() && segment.cut_off ? Instant::never() : segment.to;
}

/// Whether the job is written as segments: it has several, or its only one is not all of the time
/// from its start to its end. Never where the timeline left some of them out.
inline bool is_split(JobId id, const JobOutcome& job, const Timeline& timeline) {
  const auto segments = timeline.segments_of(id);
  if (segments.empty() || segments.size() < timeline.segment_count(id)) return false;
  if (segments.size() > 1) return true;
  const Segment& only = segments.front();
  const Instant end = end_of(only, job, true);
  return only.from != job.started || end != (job.is_over() ? job.finished : Instant::never());
}

/// Calls `visit(JobRowSpan, k, n)` for each row of the job: k from 1 to n, or 0 and 0 where the
/// job is one row. `timeline` may be null.
template <class Visit>
void for_each_row(JobId id, const JobOutcome& job, const Timeline* timeline, Visit&& visit) {
  if (timeline != nullptr && is_split(id, job, *timeline)) {
    const auto segments = timeline->segments_of(id);
    const auto count = static_cast<std::uint32_t>(segments.size());
    Instant submitted = job.submitted;
    for (const Segment& segment : segments) {
      const Instant end = end_of(segment, job, segment.k == count);
      visit(JobRowSpan{submitted, segment.from, end, &segment}, segment.k, count);
      submitted = segment.to;
    }
    return;
  }
  JobRowSpan row{job.submitted, job.started};
  if (job.has_started() && job.is_over()) row.finished = job.finished;
  if (timeline != nullptr && timeline->segment_count(id) == 1 &&
      timeline->segments_of(id).size() == 1)
    row.segment = &timeline->segments_of(id).front();
  visit(row, 0U, 0U);
}

}  // namespace orrery::sim
