// The rules of a document read: names checked, groups selected, texts parsed (stage parse).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/error_sink.hpp"
#include "core/placement/inventory.hpp"
#include "core/placement/placement_text.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/selection.hpp"

namespace orrery::placement {

/// One rule as far as it is sound.
struct ReadRule {
  const PlacementRule* rule = nullptr;   ///< Of the caller.
  std::string subject;                   ///< "component actor".
  std::vector<std::string> names;        ///< Sound names; none that an earlier rule placed.
  const Selection* selection = nullptr;  ///< Of `ReadRules`; null where a group is unusable.
  TextPosition groups_at;                ///< Of the last label.
  PlacementEntries text;

  /// Whether its processes can be put on devices.
  bool is_sound() const { return selection != nullptr && text.sound; }

  bool places(std::string_view name) const;
};

/// All rules of a document.
struct ReadRules {
  std::vector<ReadRule> rules;
  std::vector<std::unique_ptr<Selection>> selections;  ///< One per list of labels in use.
  std::set<std::string, std::less<>> names;            ///< Of all rules.

  /// The rule that places `name`, or null.
  const ReadRule* find(std::string_view name) const;
};

/// Reads all rules; what is wrong is told in stage parse. `inventory` and `rules` must outlive what
/// is returned.
ReadRules read_rules(const Inventory& inventory,
                     const std::vector<PlacementRule>& rules,
                     PlacementErrors& errors);

/// Puts the processes of a sound rule on devices, under a name that the caller replaces; no
/// processes where something is wrong, which is told in stage resolve.
ComponentPlan resolve_rule(const Inventory& inventory,
                           const ReadRule& rule,
                           PlacementErrors& errors);

}  // namespace orrery::placement
