#include "core/placement/component_rules.hpp"

#include <algorithm>
#include <utility>

#include "core/placement/assignment.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

/// Selections by list of labels: rules mostly name the same few.
class SelectionCache {
 public:
  SelectionCache(const Inventory& inventory, std::vector<std::unique_ptr<Selection>>& selections)
      : inventory_(inventory), selections_(selections) {}

  const Selection* select(const std::vector<PlacedLabel>& labels, const ErrorSink& errors) {
    const auto matches = [&](const std::unique_ptr<Selection>& known) {
      return std::equal(known->labels.begin(),
                        known->labels.end(),
                        labels.begin(),
                        labels.end(),
                        [](const std::string& a, const PlacedLabel& b) { return a == b.label; });
    };
    const auto known = std::find_if(selections_.begin(), selections_.end(), matches);
    if (known != selections_.end()) return known->get();
    auto made = select_groups(inventory_, labels, errors);
    if (!made) return nullptr;
    selections_.push_back(std::make_unique<Selection>(std::move(*made)));
    return selections_.back().get();
  }

 private:
  const Inventory& inventory_;
  std::vector<std::unique_ptr<Selection>>& selections_;
};

std::string subject_of(const PlacedText& components) {
  const bool several = components.text.find(',') != std::string::npos;
  return (several ? "components " : "component ") + in_quotes(components.text);
}

/// `placed`: names of the rules before, to which those of `rule` are added.
void read_names(const PlacementRule& rule,
                std::set<std::string, std::less<>>& placed,
                ReadRule& out,
                const ErrorSink& errors) {
  for (const TextPiece& piece : split_trimmed({rule.components.text, 0}, ',')) {
    const TextPosition at = rule.components.at.plus(piece.offset);
    if (piece.text.empty()) {
      errors.add(
          ErrorKind::ComponentNameEmpty,
          at,
          {"an empty component name", "a name between commas", "remove the comma or write a name"});
    } else if (!placed.emplace(piece.text).second) {
      errors.add(ErrorKind::ComponentMultiplePlacements,
                 at,
                 {"component " + in_quotes(piece.text) + " a second time",
                  "one placement for a component",
                  "remove the name from all keys but one"});
    } else {
      out.names.emplace_back(piece.text);
    }
  }
}

/// Names first by kind of error, then in order: empty names are told before anything else of the
/// rule, repeated ones last.
void split_name_errors(PlacementErrors& names, PlacementErrors& errors, bool empty_names) {
  for (PlacementError& error : names) {
    if ((error.kind == ErrorKind::ComponentNameEmpty) == empty_names) {
      errors.push_back(std::move(error));
    }
  }
}

ReadRule read_rule(const PlacementRule& rule,
                   std::set<std::string, std::less<>>& placed,
                   SelectionCache& selections,
                   PlacementErrors& errors) {
  ReadRule out;
  out.rule = &rule;
  out.subject = subject_of(rule.components);
  const ErrorSink sink(errors, Stage::Parse, out.subject);
  PlacementErrors names;
  read_names(rule, placed, out, ErrorSink(names, Stage::Parse, out.subject));
  split_name_errors(names, errors, true);

  const std::vector<PlacedLabel> labels = split_labels(rule.node_groups);
  out.groups_at = labels.back().at;
  out.selection = selections.select(labels, sink);
  if (!rule.placement) {
    sink.add(ErrorKind::PlacementMissing,
             labels.back().at.line != 0 ? labels.back().at : rule.components.at,
             {"a node_group without placement",
              "a placement beside the node_group",
              "add placement: with resource ranks, for example all"});
  } else {
    ResourceFacts facts;
    std::string where;
    if (out.selection != nullptr) {
      where = describe_resources(*out.selection);
      facts = {out.selection->resources, out.selection->is_nodes(), where};
    }
    out.text = read_placement(*rule.placement, facts, sink);
  }
  split_name_errors(names, errors, false);
  return out;
}

/// Processes of all components so far; a rule that brings too many is told and not placed.
void count_processes(ReadRule& rule, std::int64_t& total, PlacementErrors& errors) {
  if (!rule.text.sound) return;
  std::int64_t processes = 0;
  for (const PlacementEntry& entry : rule.text.entries) processes += entry.processes.count();
  total += processes * static_cast<std::int64_t>(rule.names.size());
  if (total <= kProcessesMax) return;
  rule.text.sound = false;
  const ErrorSink sink(errors, Stage::Parse, rule.subject);
  sink.add(ErrorKind::RankFormat,
           rule.rule->placement->at,
           {counted(total, "process") + " of all components so far",
            "at most " + std::to_string(kProcessesMax) + " in a document",
            "lower the process ranks or split the document"});
}

/// The first process of an entry that has a fault, how many more have one; or nothing.
std::optional<ProcessFault> add_entry(Assignment& assignment, const PlacementEntry& entry) {
  const std::int64_t resources = entry.resources.count();
  const std::int64_t processes = entry.processes.count();
  std::optional<ProcessFault> first;
  for (std::int64_t i = 0; i < processes; ++i) {
    // Rule P8: equal slices; rule P9: equal blocks.
    auto fault =
        resources >= processes
            ? assignment.add(
                  entry.resources.first + i * (resources / processes), resources / processes, 1)
            : assignment.add(entry.resources.first + i / (processes / resources), 1, 1);
    if (fault && first) ++first->others;
    if (fault && !first) first = std::move(fault);
  }
  return first;
}

}  // namespace

bool ReadRule::places(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const ReadRule* ReadRules::find(std::string_view name) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const ReadRule& r) { return r.places(name); });
  return found == rules.end() ? nullptr : &*found;
}

ReadRules read_rules(const Inventory& inventory,
                     const std::vector<PlacementRule>& rules,
                     PlacementErrors& errors) {
  ReadRules out;
  SelectionCache selections(inventory, out.selections);
  std::int64_t processes = 0;
  for (const PlacementRule& rule : rules) {
    out.rules.push_back(read_rule(rule, out.names, selections, errors));
    count_processes(out.rules.back(), processes, errors);
  }
  return out;
}

ComponentPlan resolve_rule(const Inventory& inventory,
                           const ReadRule& rule,
                           PlacementErrors& errors) {
  const ErrorSink sink(errors, Stage::Resolve, rule.subject);
  const Selection& selection = *rule.selection;
  if (selection.is_nodes()) {
    if (const auto shared = find_shared_node(selection, inventory.nodes.size())) {
      tell_shared_node(*shared, selection, rule.groups_at, sink);
      return {};
    }
  }
  Assignment assignment(selection, {});
  bool sound = true;
  for (const PlacementEntry& entry : rule.text.entries) {
    if (const auto fault = add_entry(assignment, entry)) {
      tell_fault(*fault, selection, rule.rule->placement->at.plus(entry.offset), sink);
      sound = false;
    }
  }
  if (!sound) return {};
  return assignment.finish(inventory.nodes.size());
}

std::vector<ComponentPlan> resolve_components(const Inventory& inventory,
                                              const std::vector<PlacementRule>& rules,
                                              PlacementErrors& errors) {
  const ReadRules read = read_rules(inventory, rules, errors);
  std::vector<ComponentPlan> out;
  for (const ReadRule& rule : read.rules) {
    if (!rule.is_sound()) continue;
    ComponentPlan plan = resolve_rule(inventory, rule, errors);
    if (plan.processes.empty()) continue;
    for (const std::string& name : rule.names) {
      plan.name = name;
      out.push_back(plan);
    }
  }
  sort_by_stage(errors);
  return out;
}

}  // namespace orrery::placement
