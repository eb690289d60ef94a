// up: a controller and agents on this machine, all of it with one command.
#include <chrono>
#include <nlohmann/json.hpp>

#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/views.hpp"
#include "tools/node/local_cluster.hpp"
#include "tools/node/verbs.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Up {
 public:
  Up(UpOptions options, std::vector<JobSource> sources, Console& console)
      : cluster_(std::move(options), console), sources_(std::move(sources)), console_(console) {}

  ExitCode run() {
    const Clock::time_point begun = Clock::now();
    ExitCode code = cluster_.start();
    if (!cluster_.has_started()) return code;
    if (code == ExitCode::Met) {
      tell_ready_to_people(begun);
      code = submit_all();
      Supervisor& supervisor = cluster_.supervisor();
      while (supervisor.turn(1h) && supervisor.failure().empty()) {
      }
      if (code == ExitCode::Met) code = ExitCode::Interrupted;
    }
    return end(code);
  }

 private:
  void tell_ready_to_people(Clock::time_point begun) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    char time[32];
    std::snprintf(time, sizeof time, "%.2f", seconds);
    const std::string url = cluster_.url();
    const UpOptions& options = cluster_.options();
    const UpFolder& folder = cluster_.folder();
    std::string out = std::string("ready in ") + time + " s: controller at " + url + ", " +
                      std::to_string(options.agents) + (options.agents == 1 ? " node" : " nodes") +
                      ", state in " + folder.path() +
                      (folder.is_temporary() ? " (removed in the end)\n" : "\n");
    out += "Try in another terminal:\n";
    if (options.http != "127.0.0.1:22100") out += "  export ORRERY_SERVER=" + url + "\n";
    out +=
        "  orrery submit docs/examples/jobs/three_roles.yaml --wait\n  orrery get nodes\n"
        "  orrery top\nCtrl-C ends everything.\n";
    console_.out(out);
  }

  ExitCode submit_all() {
    Session session(cluster_.client_options(10s), console_);
    for (const JobSource& source : sources_) {
      const nlohmann::json document = session.ask(submission(source), source.path);
      for (const nlohmann::json& job : list_of(document, "jobs"))
        console_.out(short_name(text_of(job, "name")) + ": submitted\n");
    }
    return session.code();
  }

  ExitCode end(ExitCode code) {
    console_.err("ending: workers are asked to stop (Ctrl-C again kills them)\n");
    const bool clean = cluster_.end();
    console_.err(clean ? "everything has ended; no process is left\n"
                       : "some processes of " + cluster_.folder().path() + " could not be ended\n");
    return clean ? code : ExitCode::InvariantBroken;
  }

  LocalCluster cluster_;
  std::vector<JobSource> sources_;
  Console& console_;
};

}  // namespace

ExitCode run_up(const Arguments& arguments, Console& console) {
  auto options = up_options(arguments);
  Errors warnings;
  auto sources = read_job_sources(arguments.operands(), {}, warnings);
  if (!options) console.errors(options.errors());
  if (!sources) console.errors(sources.errors());
  if (!options || !sources) return ExitCode::BadInput;
  console.warnings(warnings);
  return Up(std::move(*options), std::move(*sources), console).run();
}

}  // namespace orrery::cli
