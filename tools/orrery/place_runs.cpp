#include "tools/orrery/place_runs.hpp"

#include <algorithm>
#include <utility>

namespace orrery::cli {
namespace {

using placement::ComponentPlan;
using placement::Process;

/// Whether `run` stands to `before` as a repetition on the next node. Ranks of what is repeated are
/// consecutive only where it is all that its node has.
bool repeats(const PlacedRun& before, const PlacedRun& run) {
  PlacedRun same = before;
  same.first_rank = run.first_rank;
  same.last_rank = run.last_rank;
  same.first_node = same.last_node = run.first_node;
  return before.last_node + 1 == run.first_node && before.last_rank + 1 == run.first_rank &&
         same == run;
}

/// Adds processes one by one, node after node.
class RunBuilder {
 public:
  RunBuilder(const placement::Inventory& inventory, bool isolate)
      : inventory_(inventory), isolate_(isolate) {}

  void add(const Process& process) {
    if (!here_.empty() && here_.front().first_node != process.node_rank) finish_node();
    PlacedRun one = run_of(process);
    if (!here_.empty() && shares(here_.back(), one)) {
      PlacedRun& block = here_.back();
      block.last_rank = one.last_rank;
      block.last_local_rank = one.last_local_rank;
      ++block.sharers;
      return;
    }
    here_.push_back(std::move(one));
  }

  std::vector<PlacedRun> take() {
    finish_node();
    return std::move(runs_);
  }

 private:
  PlacedRun run_of(const Process& process) const {
    PlacedRun run;
    run.first_rank = run.last_rank = process.rank;
    run.first_node = run.last_node = process.node_rank;
    run.group = process.group;
    run.first_local_rank = run.last_local_rank = process.local_rank;
    run.local_world_size = process.local_world_size;
    run.first_devices = run.last_devices = process.devices;
    run.visible = placement::visible_devices(inventory_, process, isolate_);
    run.sees_own = process.kind == placement::ResourceKind::Accelerator && isolate_;
    if (run.sees_own) run.visible.clear();
    return run;
  }

  /// Whether `next` could be in one run with `run`, but for its devices.
  static bool joins(const PlacedRun& run, const PlacedRun& next) {
    return run.group == next.group && run.last_rank + 1 == next.first_rank &&
           run.last_local_rank + 1 == next.first_local_rank && run.sees_own == next.sees_own &&
           run.visible == next.visible && run.local_world_size == next.local_world_size &&
           run.last_devices.size() == next.first_devices.size();
  }

  static bool shares(const PlacedRun& block, const PlacedRun& one) {
    return joins(block, one) && block.first_devices == one.first_devices;
  }

  /// The step from the last devices of a run to a block's; 0 where there is no one step.
  static std::int32_t step(const PlacedRun& run, const PlacedRun& block) {
    if (block.first_devices.empty()) return 0;
    const std::int32_t step = block.first_devices[0] - run.last_devices[0];
    for (std::size_t i = 0; i < block.first_devices.size(); ++i)
      if (block.first_devices[i] - run.last_devices[i] != step) return 0;
    return std::max(step, 0);
  }

  void finish_node() {
    std::vector<PlacedRun> joined;
    std::int32_t last_step = 0;
    for (PlacedRun& block : here_) {
      const bool fits =
          !joined.empty() && joins(joined.back(), block) && joined.back().sharers == block.sharers;
      const std::int32_t this_step = fits ? step(joined.back(), block) : 0;
      if (this_step > 0 && (last_step == 0 || last_step == this_step)) {
        joined.back().last_rank = block.last_rank;
        joined.back().last_local_rank = block.last_local_rank;
        joined.back().last_devices = std::move(block.last_devices);
        last_step = this_step;
        continue;
      }
      joined.push_back(std::move(block));
      last_step = 0;
    }
    here_.clear();
    if (joined.size() == 1 && last_alone_ && repeats(runs_.back(), joined[0])) {
      runs_.back().last_node = joined[0].last_node;
      runs_.back().last_rank = joined[0].last_rank;
      return;
    }
    last_alone_ = joined.size() == 1;
    for (PlacedRun& run : joined) runs_.push_back(std::move(run));
  }

  const placement::Inventory& inventory_;
  bool isolate_;
  std::vector<PlacedRun> here_;  // Of the node at hand, a block for each set of devices.
  std::vector<PlacedRun> runs_;
  bool last_alone_ = false;  // The last run is all that its node has.
};

}  // namespace

std::vector<PlacedRun> placed_runs(const ComponentPlan& component,
                                   const placement::Inventory& inventory,
                                   bool isolate) {
  RunBuilder builder(inventory, isolate);
  for (const Process& process : component.processes) builder.add(process);
  return builder.take();
}

std::string range_text(std::int32_t first, std::int32_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

std::string range_text(const std::vector<std::int32_t>& values) {
  if (values.empty()) return "-";
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + range_text(values[i], values[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace orrery::cli
