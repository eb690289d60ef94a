// Random inventories and random texts. What is accepted is compared with an enumeration that knows
// nothing of selections and ranges: a flat list of resources, one process after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "tests/core/placement/flat_placement.hpp"
#include "tests/core/placement/placement_builders.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What the rules say of one process; nothing where it is sound.
std::optional<ErrorKind> fault_of(const std::vector<FlatResource>& process) {
  std::set<std::int32_t> nodes;
  std::set<std::string> types;
  std::set<std::tuple<std::int32_t, std::string, std::int32_t>> devices;
  for (const FlatResource& resource : process) {
    nodes.insert(resource.node);
    types.insert(resource.type);
    devices.insert(resource.device());
  }
  if (nodes.size() > 1) return ErrorKind::ProcessSpansNodes;
  if (devices.size() < process.size()) return ErrorKind::ProcessResourceDuplicate;
  if (types.size() > 1) return ErrorKind::ProcessMixedHardware;
  return std::nullopt;
}

bool nodes_overlap(const std::vector<FlatResource>& resources) {
  std::set<std::int32_t> seen;
  for (const FlatResource& resource : resources) {
    if (resource.type == "Node" && !seen.insert(resource.node).second) return true;
  }
  return false;
}

void expect_processes(const ComponentPlan& plan,
                      const std::vector<std::vector<FlatResource>>& expected) {
  ASSERT_EQ(plan.processes.size(), expected.size());
  std::map<std::int32_t, std::int32_t> on_node;
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Process& process = plan.processes[i];
    EXPECT_EQ(process.rank, static_cast<std::int32_t>(i));
    EXPECT_EQ(process.node_rank, expected[i][0].node);
    const auto group = static_cast<std::size_t>(process.group);
    EXPECT_EQ(plan.groups.at(group), expected[i][0].group);
    EXPECT_EQ(plan.hardware_types.at(group), expected[i][0].type);
    std::vector<std::int32_t> devices;
    for (const FlatResource& resource : expected[i]) {
      if (resource.type != "Node") devices.push_back(resource.local);
    }
    EXPECT_EQ(process.devices, devices);
    if (std::find(order.begin(), order.end(), process.node_rank) == order.end()) {
      order.push_back(process.node_rank);
    }
    EXPECT_EQ(order.at(static_cast<std::size_t>(process.placement_node_rank)), process.node_rank);
    EXPECT_EQ(process.local_rank, on_node[process.node_rank]++);
  }
  for (const Process& process : plan.processes) {
    EXPECT_EQ(process.local_world_size, on_node[process.node_rank]);
  }
}

/// Whatever the text, a plan keeps these.
void expect_sound(const Inventory& inventory, const ComponentPlan& plan) {
  ASSERT_FALSE(plan.processes.empty());
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    const Process& process = plan.processes[i];
    EXPECT_EQ(process.rank, static_cast<std::int32_t>(i));
    ASSERT_LT(static_cast<std::size_t>(process.node_rank), inventory.nodes.size());
    EXPECT_EQ(process.devices.empty(), process.kind == ResourceKind::Node);
    for (const std::int32_t device : process.devices) {
      EXPECT_GE(device, 0);
      if (process.kind == ResourceKind::Accelerator) {
        EXPECT_LT(device, gpus(inventory, process.node_rank));
      }
    }
    const std::set<std::int32_t> once(process.devices.begin(), process.devices.end());
    EXPECT_EQ(once.size(), process.devices.size());
    const auto visible = visible_devices(inventory, process, true);
    EXPECT_TRUE(std::is_sorted(visible.begin(), visible.end()));
  }
}

/// The explicit form resolves to the plan it was made of.
void expect_explicit_form(const Inventory& inventory, const ComponentPlan& plan) {
  const PlacementRule again = explicit_rule(plan, inventory);
  ASSERT_TRUE(again.placement);
  SCOPED_TRACE("explicit form " + again.placement->text);
  PlacementErrors errors;
  EXPECT_THAT(resolve_components(inventory, {again}, errors), ElementsAre(plan));
  EXPECT_THAT(summary(errors), IsEmpty());
  EXPECT_EQ(explicit_rule(plan, inventory).placement->text, again.placement->text);
}

/// What one case came to, so that the test can tell that it covers all.
enum class Came { ToPlan, ToFault, ToOverlap };

Came check_generated(std::uint64_t seed) {
  Random random(seed);
  const Inventory inventory = random_inventory(random);
  const std::string labels = random_labels(inventory, random);
  const std::vector<FlatResource> resources = flatten(inventory, labels);
  if (resources.empty()) return Came::ToPlan;
  const GeneratedText generated = random_text(resources, random);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": '" + generated.text + "' on '" + labels + "'");

  PlacementErrors errors;
  const auto plans = resolve_components(inventory, {rule("x", generated.text, labels)}, errors);
  const bool nodes = resources.front().type == "Node";
  std::set<ErrorKind> faults;
  for (const auto& process : generated.processes) {
    if (const auto fault = fault_of(process)) faults.insert(*fault);
  }
  if (nodes) {
    // Several nodes for a process are found in the text; then nothing is resolved.
    for (const auto& process : generated.processes) {
      if (process.size() > 1) faults.insert(ErrorKind::ProcessSpansNodes);
    }
    if (faults.empty() && nodes_overlap(resources)) {
      EXPECT_THAT(summary(errors), ElementsAre(testing::StartsWith("resolve node_groups_overlap")));
      return Came::ToOverlap;
    }
  }
  if (faults.empty()) {
    EXPECT_THAT(summary(errors), IsEmpty());
    EXPECT_EQ(plans.size(), 1U);
    if (plans.size() != 1) return Came::ToPlan;
    expect_processes(plans[0], generated.processes);
    expect_sound(inventory, plans[0]);
    expect_explicit_form(inventory, plans[0]);
    return Came::ToPlan;
  }
  EXPECT_THAT(plans, IsEmpty());
  EXPECT_FALSE(errors.empty());
  for (const PlacementError& error : errors) {
    EXPECT_EQ(error.stage, nodes ? Stage::Parse : Stage::Resolve);
    EXPECT_TRUE(nodes || faults.contains(error.kind)) << error.message();
  }
  return Came::ToFault;
}

TEST(PlacementProperty, SoundTextsAreEnumerated) {
  std::map<Came, std::uint64_t> count;
  const std::uint64_t seeds = tests::count_of(1500, 6000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ++count[check_generated(seed)];
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  // Each outcome is met often enough to mean something.
  EXPECT_GT(count[Came::ToPlan], seeds / 3);
  EXPECT_GT(count[Came::ToFault], seeds / 12);
  EXPECT_GT(count[Came::ToOverlap], seeds / 120);
}

std::string mutated(std::string text, Random& random) {
  constexpr std::string_view kLetters = "0123456789-:,, aAlLx\t+_\xC3\n";
  for (std::int64_t edits = random.between(1, 4); edits > 0; --edits) {
    const auto at = static_cast<std::size_t>(random.below(text.size() + 1));
    const char letter = kLetters[static_cast<std::size_t>(random.below(kLetters.size()))];
    if (at < text.size() && random.chance(0.4)) {
      text.erase(at, 1);
    } else if (at < text.size() && random.chance(0.5)) {
      text[at] = letter;
    } else {
      text.insert(at, 1, letter);
    }
  }
  return text;
}

bool lies_in(TextPosition at, const PlacedText& text) {
  return at.line == text.at.line && at.column >= text.at.column &&
         at.column <= text.at.column + static_cast<int>(text.text.size());
}

TEST(PlacementProperty, AnyTextIsPlacedSoundlyOrRefusedWithItsPlace) {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  const std::uint64_t seeds = tests::count_of(4000, 20000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Random random = Random::stream(seed, "mutations");
    const Inventory inventory = random_inventory(random);
    const std::string labels = random_labels(inventory, random);
    const std::vector<FlatResource> resources = flatten(inventory, labels);
    if (resources.empty()) continue;
    PlacementRule mutant = rule("x", mutated(random_text(resources, random).text, random), labels);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": '" + mutant.placement->text + "' on '" +
                 labels + "'");
    PlacementErrors errors;
    const auto plans = resolve_components(inventory, {mutant}, errors);
    EXPECT_EQ(errors.empty(), plans.size() == 1);
    for (const ComponentPlan& plan : plans) {
      expect_sound(inventory, plan);
      expect_explicit_form(inventory, plan);
    }
    std::set<std::pair<TextPosition, ErrorKind>> once;
    for (const PlacementError& error : errors) {
      const bool of_groups = error.kind == ErrorKind::NodeGroupsOverlap;
      EXPECT_TRUE(of_groups || lies_in(error.at, *mutant.placement)) << error.message();
      EXPECT_TRUE(once.insert({error.at, error.kind}).second) << "told twice: " << error.message();
      EXPECT_FALSE(error.found.empty() || error.needed.empty() || error.remedy.empty());
    }
    (errors.empty() ? accepted : refused) += 1;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(accepted, seeds / 20);
  EXPECT_GT(refused, seeds / 4);
}

TEST(PlacementProperty, StrategiesAgreeWithTexts) {
  std::uint64_t compared = 0;
  const std::uint64_t seeds = tests::count_of(1500, 6000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "strategies");
    const Inventory inventory = random_inventory(random);
    const std::string labels = random_labels(inventory, random);
    const std::vector<FlatResource> resources = flatten(inventory, labels);
    if (resources.empty()) continue;
    const auto last = static_cast<std::int32_t>(resources.size()) - 1;
    PackedStrategy packed;
    packed.start = static_cast<std::int32_t>(random.between(0, last));
    packed.end = static_cast<std::int32_t>(random.between(packed.start, last));
    packed.per_process = static_cast<std::int32_t>(random.between(1, 4));
    packed.stride = static_cast<std::int32_t>(random.between(1, 3));
    std::vector<PlacedText> groups;
    if (!labels.empty()) groups.push_back({labels, {4, 20}});

    // Rule S1 by its words: the lowest free resource first, then on at the stride.
    FlexibleStrategy flexible;
    std::set<std::int32_t> free;
    for (std::int32_t rank = packed.start; rank <= packed.end; ++rank) free.insert(rank);
    bool filled = true;
    while (filled && !free.empty()) {
      flexible.devices.emplace_back();
      std::int32_t rank = *free.begin();
      for (std::int32_t i = 0; i < packed.per_process; ++i, rank += packed.stride) {
        filled = filled && free.erase(rank) == 1;
        flexible.devices.back().push_back(rank);
      }
      random.shuffle(flexible.devices.back());
    }
    random.shuffle(flexible.devices);
    PlacementErrors packed_errors;
    const ComponentPlan plan = resolve_strategy(inventory, packed, groups, packed_errors);
    const bool divides =
        (packed.end - packed.start + 1) % (packed.per_process * packed.stride) == 0;
    EXPECT_TRUE(filled || !divides);
    if (!divides) {
      EXPECT_EQ(packed_errors.at(0).kind, ErrorKind::NotDivisible);
      continue;
    }
    PlacementErrors flexible_errors;
    EXPECT_EQ(plan, resolve_strategy(inventory, flexible, groups, flexible_errors));
    EXPECT_EQ(packed_errors.empty(), flexible_errors.empty());
    if (plan.processes.empty()) continue;
    expect_sound(inventory, plan);
    ++compared;
    const PlacementRule again = explicit_rule(plan, inventory);
    const bool strided = packed.stride > 1 && packed.per_process > 1;
    EXPECT_EQ(again.placement.has_value(), !strided);
    if (!strided) expect_explicit_form(inventory, plan);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(compared, seeds / 20);
}

}  // namespace
}  // namespace orrery::placement
