#include "core/job/process_programs.hpp"

#include <algorithm>
#include <map>

namespace orrery {
namespace {

bool says_same(const NodeProgram& a, const NodeProgram& b) {
  return a.environment == b.environment && a.interpreter == b.interpreter &&
         a.node_group == b.node_group;
}

/// Adds one place to the entry that says the same, for all of a node or for one rank.
void add(const ProcessProgram& process, bool for_all, std::vector<NodeProgram>& out) {
  if (says_same(process.program, NodeProgram{})) return;
  const auto same = std::ranges::find_if(out, [&](const NodeProgram& other) {
    return says_same(other, process.program) && other.ranks.empty() == for_all;
  });
  if (same == out.end()) {
    out.push_back(process.program);
    out.back().nodes = {process.node};
    out.back().ranks.clear();
    if (!for_all) out.back().ranks.push_back(process.rank);
    return;
  }
  same->nodes.push_back(process.node);
  if (!for_all) same->ranks.push_back(process.rank);
}

void sort_unique(std::vector<std::int32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

std::vector<NodeProgram> joined_programs(const std::vector<ProcessProgram>& processes) {
  std::map<std::int32_t, std::vector<const ProcessProgram*>> by_node;
  for (const ProcessProgram& process : processes) by_node[process.node].push_back(&process);
  std::vector<NodeProgram> out;
  for (const auto& [node, here] : by_node) {
    const NodeProgram& first = here.front()->program;
    const bool for_all = std::all_of(here.begin(), here.end(), [&](const ProcessProgram* process) {
      return says_same(process->program, first);
    });
    if (for_all)
      add(*here.front(), true, out);
    else
      for (const ProcessProgram* process : here) add(*process, false, out);
  }
  for (NodeProgram& program : out) {
    sort_unique(program.nodes);
    sort_unique(program.ranks);
  }
  return out;
}

}  // namespace orrery
