// How often a policy may ask its view for one plan: stands for time where there is no clock.
#pragma once

#include <cstdint>

namespace orrery {

/// Counted down by the view. What happens at the end is the planner's to say; it never returns to
/// the policy.
class StepBudget {
 public:
  explicit StepBudget(std::uint64_t steps) : left_(steps) {}

  virtual ~StepBudget() = default;

  /// One call of the view.
  void take() {
    if (left_ == 0) exceeded();
    --left_;
  }

  std::uint64_t left() const { return left_; }

 private:
  [[noreturn]] virtual void exceeded() = 0;

  std::uint64_t left_;
};

}  // namespace orrery
