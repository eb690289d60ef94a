// The election of a controller that has no rivals.
#pragma once

#include <utility>

#include "runtime/election/election.hpp"

namespace orrery::runtime {

/// The only candidate leads from the start and for ever: for stores that one process alone opens,
/// such as the SQLite file with its lock. It holds no threads.
class SoleElection final : public Election {
 public:
  explicit SoleElection(Candidate self) : self_(std::move(self)) {}

  Result<std::optional<Leadership>> campaign(std::stop_token) override {
    return std::optional<Leadership>(Leadership{});
  }

  Clock::time_point until() const override { return Clock::time_point::max(); }

  Status resign() override { return Done{}; }

  std::optional<Candidate> leader() const override { return self_; }

 private:
  Candidate self_;
};

}  // namespace orrery::runtime
