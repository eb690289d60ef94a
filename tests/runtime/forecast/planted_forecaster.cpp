// A process that forecasts that each job starts a minute after the state that it is given, or
// misbehaves as the name of its policy says.
#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "runtime/forecast/serve_forecasts.hpp"
#include "runtime/planner/child_side.hpp"

namespace {

using namespace orrery;

void misbehave(const std::string& how) {
  if (how == "loops")
    while (true) ::usleep(1000);
  if (how == "exits") ::_exit(5);
  if (how == "crashes") {
    ::signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end it with an exit code.
    ::raise(SIGSEGV);
  }
  if (how == "throws") throw std::runtime_error("planted in a test");
  if (how == "garbles") {
    const std::vector<std::byte> bytes(64, std::byte{0x5a});
    (void)runtime::write_all(runtime::kPlannerFd, bytes);
    ::_exit(0);
  }
  if (how != "leaks") return;
  // What counts is what it has asked for; to write to it would only take time.
  static std::vector<std::vector<char>> leaked;
  while (true) leaked.emplace_back().reserve(std::size_t{1} << 20);
}

Result<ForecastAnswer> answer(Controller from,
                              const runtime::PolicySpec& policy,
                              const ForecastQuestion& question) {
  misbehave(policy.name);
  ForecastAnswer out;
  out.now = from.state().now;
  out.sequence = from.state().sequence;
  out.runs = question.runs;
  from.state().for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase)) return;
    ForetoldJob& told = out.jobs.emplace_back();
    told.id = job.row.id;
    told.name = job.spec->name;
    told.runs = job.row.holds;
    const Instant start = out.now + Duration::seconds(60);
    told.start = {start, start, start};
  });
  return out;
}

}  // namespace

int main() { return orrery::runtime::serve_forecasts(orrery::runtime::kPlannerFd, answer); }
