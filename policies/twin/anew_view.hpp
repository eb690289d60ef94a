// A view of which everything is new: for a policy that was not asked before this one.
#pragma once

#include <span>

#include "core/plan/forwarded_view.hpp"

namespace orrery::policies {

/// Forwards to another view, but for what was touched since the last one.
class AnewView final : public ForwardedView {
 public:
  using ForwardedView::ForwardedView;

  std::span<const JobId> touched() const override { return {}; }

  bool touched_complete() const override { return false; }
};

}  // namespace orrery::policies
