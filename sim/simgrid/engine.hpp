// SimGrid's engine, stepped beside a clock of ours: options, silence, one per process, and the ends
// of communications collected.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sim/simgrid/shim.hpp"

namespace orrery::sim {

/// SimGrid allows one engine per process and cannot take it down again: a second one, even after
/// the first is gone, breaks an invariant. Runs that need a fresh one are made in a child process.
/// Use it from the main thread only.
class SimGridEngine {
 public:
  /// A communication of ours that has ended.
  struct Ended {
    std::uint64_t tag = 0;  ///< As given to `start`.
    bool whole = false;     ///< All bytes arrived; otherwise it failed.
  };

  /// A communication that is under way.
  struct Started {
    simgrid::s4u::CommPtr comm;
    shim::SimGridAction* action = nullptr;  ///< What SimGrid computes with; gone when it has ended.
  };

  /// `options` are further ones of SimGrid, such as "contexts/stack-size:64"; they win over ours.
  explicit SimGridEngine(const std::vector<std::string>& options = {});
  SimGridEngine(const SimGridEngine&) = delete;
  SimGridEngine& operator=(const SimGridEngine&) = delete;
  /// SimGrid's part stays, with everything that was built in it, until the process ends.
  ~SimGridEngine();

  simgrid::s4u::Engine& simgrid() { return *engine_; }

  /// Seconds since the start, as SimGrid sees it.
  static double clock() { return simgrid::s4u::Engine::get_clock(); }

  /// Lets time pass up to `date_s`, seconds, or to the first end of a tagged communication, whose
  /// date `clock` then tells. A date in the past changes nothing. On return the clock is at the
  /// date to 1e-9 s, or `ended` has entries.
  void run_until(double date_s);

  /// Lets actors act and time pass up to `date_s`, or to the next thing that happens in SimGrid,
  /// whosever it is. Actors that are woken by it act in the next call: with the present date, that
  /// lets them act now. A date in the past is taken as the present one.
  void step(double date_s);

  /// The tagged communications that have ended and were not taken out yet, in SimGrid's
  /// order. The caller clears it.
  std::vector<Ended>& ended() { return ended_; }

  /// Starts a communication from host to host. Its end comes to `ended` under `tag`, above 0. The
  /// caller keeps what is returned until then. Both hosts and all links between them must be
  /// on, and there must be a link: SimGrid aborts, or stays silent for ever.
  /// `bytes` above 0; `rate_max` bytes per second, above 0.
  /// CM02 shares a link in inverse proportion to the latency of each communication's way; in equal
  /// parts only where no link on the ways has one.
  Started start(simgrid::s4u::Host* from,
                simgrid::s4u::Host* to,
                double bytes,
                double rate_max,
                std::uint64_t tag);

  /// Takes a communication back; nothing of it comes to `ended`. What it used of the links is free
  /// from now on.
  void cancel(simgrid::s4u::CommPtr comm);

 private:
  shim::SimGridModel& network();

  simgrid::s4u::Engine* engine_ = nullptr;
  shim::SimGridModel* network_ = nullptr;
  std::set<simgrid::s4u::Activity*> stop_;  ///< Not empty: SimGrid returns after this step.
  std::vector<Ended> ended_;
  std::vector<simgrid::s4u::CommPtr> cancelled_;  ///< Until a step is over.
};

}  // namespace orrery::sim
