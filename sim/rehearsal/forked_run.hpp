// A controller that goes on in world `model`, ready to run.
#pragma once

#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_world.hpp"
#include "sim/rehearsal/forked_world.hpp"

namespace orrery::sim {

/// What is run on from a state, and what it needs; nothing is stored. All arguments outlive it.
class ForkedRun {
 public:
  ForkedRun(Controller& controller,
            const scenarios::Scenario& scenario,
            ForkedJobs& source,
            Policy& policy,
            RunObserver& observer)
      : machines_(scenario, source),
        world_(machines_, source, controller.state()),
        planner_(policy, Duration::zero(), nullptr),
        driver_(controller, world_, nowhere_, planner_, &observer, {.journals = false}) {
    driver_.continue_from({}, controller.state().sequence);
    controller.resume();
  }

  Driver& driver() { return driver_; }

  Instant now() const { return world_.now(); }

 private:
  ModelWorld machines_;
  ForkedWorld world_;
  NullStore nowhere_;
  InlinePlanner planner_;
  Driver driver_;
};

}  // namespace orrery::sim
