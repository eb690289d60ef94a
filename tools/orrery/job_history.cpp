#include "tools/orrery/job_history.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/control/controller.hpp"
#include "core/driver/replay.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

/// Looks at a state after each record, and keeps what it says of jobs that are over.
class HistoryFold {
 public:
  /// Jobs that are over already where the fold begins.
  void begin(const State& state) {
    state.for_each_job([&](const JobState& job) { keep(state, job); });
  }

  void step(const State& state, const Event& event, const std::vector<Notice>& notices) {
    for (const Notice& notice : notices) {
      if (notice.job.is_none()) continue;
      if (notice.kind == NoticeKind::Allocated)
        devices_[notice.job] = std::max(devices_[notice.job], notice.devices);
      if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to)) look(state, notice.job);
    }
    // What its worker left for people may come after the end of a job.
    if (const auto* explained = std::get_if<FailureExplained>(&event.body))
      look(state, explained->job);
  }

  std::vector<EndedJob> take(const HistoryFilter& filter) {
    std::vector<EndedJob> out;
    for (auto& [id, ended] : jobs_)
      if (filter.takes(ended)) out.push_back(std::move(ended));
    return out;
  }

 private:
  void look(const State& state, JobId id) {
    if (const JobState* job = state.find(id)) keep(state, *job);
  }

  void keep(const State& state, const JobState& job) {
    if (!is_final(job.row.phase)) return;
    JobStatus status = status_of(state, job);
    EndedJob& out = jobs_[job.row.id];
    out.id = job.row.id;
    out.name = std::move(status.name);
    out.user = std::move(status.user);
    out.group = *job.spec->group;
    out.state = status.phase;
    out.reason = status.reason;
    // While a job is deleted its status tells how far it is gone.
    if (!job.deleted)
      out.message = std::move(status.message);
    else if (out.message.empty())
      out.message = "deleted";
    out.submitted = status.submitted;
    out.started = job.started_at;
    out.ended = job.finished_at;
    const auto devices = devices_.find(job.row.id);
    if (devices != devices_.end()) out.devices = devices->second;
    out.device_seconds =
        static_cast<double>(job.row.attained_device_us(state.now)) / kMicrosecondsPerSecond;
    out.restarts = status.restarts;
    out.failures = std::move(status.failures);
    if (!out.failures.empty() && out.state == JobPhase::Failed)
      out.exit_code = out.failures.back().exit_code;
  }

  std::map<JobId, EndedJob> jobs_;
  std::map<JobId, std::int32_t> devices_;
};

}  // namespace

bool HistoryFilter::takes(const EndedJob& ended) const {
  return (!state || ended.state == *state) && (user.empty() || ended.user == user) &&
         (job.empty() || ended.name == job) && ended.ended >= ended_from &&
         ended.ended < ended_before;
}

Result<std::vector<EndedJob>> ended_jobs(StateStore& store,
                                         const std::optional<StoredSnapshot>& begin,
                                         const HistoryFilter& filter) {
  Controller controller;
  HistoryFold fold;
  Sequence first{1};
  Digest chain;
  if (begin) {
    ByteReader bytes(begin->bytes);
    if (!controller.load(bytes, begin->version) || !bytes.finished())
      return Error{.subject = "snapshot " + std::to_string(begin->sequence.value),
                   .message = "holds no state; see orrery journal verify"};
    first = begin->sequence.next();
    chain = begin->chain;
    fold.begin(controller.state());
  }
  Commands commands;
  const auto read = read_journal(store, first, chain, [&](Sequence, const Event& event) {
    commands.clear();
    controller.step(event, commands);
    // This controller is not asked for plans.
    (void)controller.take_touched();
    while (controller.take_plan_request()) continue;
    fold.step(controller.state(), event, commands.notices);
    return !interrupted();
  });
  if (!read) return read.errors();
  return fold.take(filter);
}

}  // namespace orrery::cli
