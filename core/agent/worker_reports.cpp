#include "core/agent/worker_reports.hpp"

#include <algorithm>
#include <tuple>

namespace orrery {
namespace {

auto group_of(const WorkersChanged& report) {
  return std::tie(report.job,
                  report.generation,
                  report.incarnation,
                  report.fact,
                  report.exit_code,
                  report.environment,
                  report.why,
                  report.busy_port,
                  *report.diagnosis);
}

// A worker's story: it came up, then it said hello, then it ended.
int chapter_of(WorkerFact fact) {
  if (fact == WorkerFact::Running) return 0;
  return fact == WorkerFact::Ready ? 1 : 2;
}

bool is_told_before(const WorkersChanged& a, const WorkersChanged& b) {
  const auto start_of = [](const WorkersChanged& report) {
    return std::make_tuple(
        report.job, report.generation, report.incarnation, chapter_of(report.fact));
  };
  if (start_of(a) != start_of(b)) return start_of(a) < start_of(b);
  return std::tuple_cat(group_of(a), std::tie(a.first)) <
         std::tuple_cat(group_of(b), std::tie(b.first));
}

}  // namespace

void pack_reports(std::vector<WorkersChanged>& reports) {
  std::sort(reports.begin(), reports.end(), is_told_before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (kept > 0) {
      WorkersChanged& last = reports[kept - 1];
      const std::uint32_t end = last.first.value + last.count;
      if (group_of(last) == group_of(reports[i]) && reports[i].first.value <= end) {
        const std::uint32_t end_of_next = reports[i].first.value + reports[i].count;
        last.count = std::max(end, end_of_next) - last.first.value;
        continue;
      }
    }
    reports[kept++] = reports[i];
  }
  reports.resize(kept);
}

}  // namespace orrery
