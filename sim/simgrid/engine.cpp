#include "sim/simgrid/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;

// SimGrid keeps its state in globals; so must the guard.
bool engine_was_made = false;
SimGridEngine* current = nullptr;

// Dates that are no further apart are one date. Doubles of seconds near 1e6 are 1.2e-10 apart, so
// nanoseconds survive.
constexpr double kSameDate = 1e-9;

std::vector<std::string> arguments_with(const std::vector<std::string>& options) {
  std::vector<std::string> arguments{
      "orrery",
      "--log=root.threshold:critical",
      "--log=no_loc",
      // Max-min sharing without corrections, so that closed forms hold.
      "--cfg=network/model:CM02",
      "--cfg=network/latency-factor:1",
      "--cfg=network/bandwidth-factor:1",
      "--cfg=network/weight-S:0",
      "--cfg=network/crosstraffic:0",
      // A window so large that it never bounds a rate. 0 would bound every rate to 0.
      "--cfg=network/TCP-gamma:1e30",
      "--cfg=network/optim:Lazy",
      "--cfg=" + std::string(shim::kTimePrecision) + ":1e-9",
  };
  for (const std::string& option : options) arguments.push_back("--cfg=" + option);
  return arguments;
}

}  // namespace

SimGridEngine::SimGridEngine(const std::vector<std::string>& options) {
  invariant(!engine_was_made,
            "SimGrid allows one engine per process; make further runs in child processes");
  engine_was_made = true;
  current = this;
  std::vector<std::string> arguments = arguments_with(options);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  // Never deleted: taking SimGrid down corrupts its heap.
  engine_ = new s4u::Engine(&count, pointers.data());
  shim::on_comm_completion([](const s4u::Activity& activity) {
    const auto tag = reinterpret_cast<std::uint64_t>(activity.get_data<void>());
    if (current == nullptr || tag == 0) return;
    current->ended_.push_back({tag, activity.get_state() == s4u::Activity::State::FINISHED});
    current->stop_.insert(const_cast<s4u::Activity*>(&activity));
  });
}

SimGridEngine::~SimGridEngine() {
  // SimGrid's last callbacks come while the process ends, when we are gone.
  s4u::Activity::set_vetoed_activities(nullptr);
  current = nullptr;
}

void SimGridEngine::run_until(double date_s) {
  // What was cancelled holds its share of the links until a step is over: one of no length.
  if (!cancelled_.empty()) {
    stop_.clear();
    engine_->run_until(clock());
    cancelled_.clear();
  }
  // SimGrid takes a date as reached when it is within 10 us of it; we insist.
  while (ended_.empty() && date_s - clock() > kSameDate / 2) {
    stop_.clear();
    engine_->track_vetoed_activities(&stop_);
    const double before = clock();
    engine_->run_until(date_s);
    engine_->track_vetoed_activities(nullptr);
    if (clock() == before && ended_.empty()) return;  // The date is within the clock's grain.
  }
}

void SimGridEngine::step(double date_s) {
  stop_.clear();
  // SimGrid only asks whether there is something in it.
  stop_.insert(nullptr);
  engine_->track_vetoed_activities(&stop_);
  engine_->run_until(std::max(date_s, clock()));
  engine_->track_vetoed_activities(nullptr);
  cancelled_.clear();
}

shim::SimGridModel& SimGridEngine::network() {
  if (network_ == nullptr)
    for (shim::SimGridModel* model : engine_->get_all_models())
      if (model->get_name().rfind("Network", 0) == 0) network_ = model;
  invariant(network_ != nullptr, "there is a platform, and with it a network model");
  return *network_;
}

SimGridEngine::Started SimGridEngine::start(
    s4u::Host* from, s4u::Host* to, double bytes, double rate_max, std::uint64_t tag) {
  invariant(from->is_on() && to->is_on(), "a communication starts between hosts that are on");
  invariant(bytes > 0 && rate_max > 0, "a communication has bytes, and a rate");
  // The setters below would each try to start it, and mark it as vetoed.
  s4u::CommPtr comm = s4u::Comm::sendto_init();
  const double whole = bytes < 1 ? 1 : std::nearbyint(bytes);
  comm->set_payload_size(static_cast<std::uint64_t>(whole));
  comm->set_data(reinterpret_cast<void*>(tag));
  comm->set_source(from);
  comm->set_destination(to);
  if (comm->get_state() != s4u::Activity::State::STARTED) shim::start(*comm);
  auto* started = network().get_started_action_set();
  invariant(!started->empty() && started->back().get_activity() == comm->get_impl(),
            "a communication that was started is under way, so every link on its way is on");
  shim::SimGridAction* action = &started->back();
  // 3.32 forgets `set_rate` for communications from host to host.
  if (rate_max < std::numeric_limits<double>::infinity()) action->set_bound(rate_max);
  return {std::move(comm), action};
}

void SimGridEngine::cancel(s4u::CommPtr comm) {
  comm->set_data(nullptr);
  comm->cancel();
  cancelled_.push_back(std::move(comm));
}

}  // namespace orrery::sim
