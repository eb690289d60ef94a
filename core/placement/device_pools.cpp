#include "core/placement/device_pools.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery::placement {

namespace {

void add_spans(const Selection& selection, RankRange ranks, std::vector<DeviceSpan>& spans) {
  for (const NodeResources& node : selection.nodes) {
    const std::int64_t first = std::max(ranks.first, node.first);
    const std::int64_t last = std::min(ranks.last, node.first + node.count - 1);
    if (first > last) continue;
    const std::string& type = selection.hardware_types[static_cast<std::size_t>(node.group)];
    spans.push_back({type, node.node_rank, first - node.first, last - node.first});
  }
}

std::vector<DeviceSpan> merged_spans(std::vector<DeviceSpan> spans) {
  std::sort(spans.begin(), spans.end());
  std::vector<DeviceSpan> merged;
  for (const DeviceSpan& span : spans) {
    DeviceSpan* before = merged.empty() ? nullptr : &merged.back();
    if (before != nullptr && before->type == span.type && before->node_rank == span.node_rank &&
        span.first <= before->last + 1) {
      before->last = std::max(before->last, span.last);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

}  // namespace

std::vector<DeviceSpan> devices_of(const Selection& selection, RankRange ranks) {
  std::vector<DeviceSpan> spans;
  add_spans(selection, ranks, spans);
  return merged_spans(std::move(spans));
}

std::vector<DeviceSpan> devices_of(const ReadRule& rule) {
  std::vector<DeviceSpan> spans;
  for (const PlacementEntry& entry : rule.text.entries)
    add_spans(*rule.selection, entry.resources, spans);
  return merged_spans(std::move(spans));
}

std::vector<DeviceSpan> without(const std::vector<DeviceSpan>& a,
                                const std::vector<DeviceSpan>& b) {
  std::vector<DeviceSpan> left;
  for (DeviceSpan span : a) {
    for (const DeviceSpan& cut : b) {
      const bool meets = cut.type == span.type && cut.node_rank == span.node_rank &&
                         cut.first <= span.last && span.first <= cut.last;
      if (!meets) continue;
      if (span.first < cut.first)
        left.push_back({span.type, span.node_rank, span.first, cut.first - 1});
      span.first = cut.last + 1;
    }
    if (span.first <= span.last) left.push_back(span);
  }
  return left;
}

std::string describe_devices(const std::vector<DeviceSpan>& spans) {
  std::string out;
  std::string_view type;
  for (const DeviceSpan& span : spans) {
    out += out.empty() ? "" : ", ";
    if (span.type != type) out.append(span.type) += ' ';
    type = span.type;
    out += to_text({span.first, span.last}) + " of node " + std::to_string(span.node_rank);
  }
  return out;
}

std::optional<DevicePool> read_pool(std::string name,
                                    const ReadRule& rule,
                                    const ErrorSink& errors) {
  const std::vector<PlacementEntry>& entries = rule.text.entries;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const std::int64_t last = entries[i - 1].resources.last;
    if (entries[i].resources.first == last + 1) continue;
    const RankRange whole{entries.front().resources.first, entries.back().resources.last};
    errors.add(ErrorKind::ComponentGpusNotContiguous,
               rule.rule->placement->at.plus(entries[i].offset),
               {"resource ranks of " + name + " that go from " + std::to_string(last) + " to " +
                    std::to_string(entries[i].resources.first),
                "resource ranks without a hole in a model-parallel placement",
                "write '" + to_text(whole) + "' or choose a range without a hole"});
    return std::nullopt;
  }
  return DevicePool{
      std::move(name), &rule, {entries.front().resources.first, entries.back().resources.last}};
}

bool same_devices(const DevicePool& a, const DevicePool& b) { return a.devices() == b.devices(); }

std::optional<std::string> shared_device(const DevicePool& a, const DevicePool& b) {
  return shared_device(a.devices(), b.devices());
}

std::optional<std::string> shared_device(const std::vector<DeviceSpan>& left,
                                         const std::vector<DeviceSpan>& right) {
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() && r != right.end()) {
    const auto left_node = std::pair(l->type, l->node_rank);
    const auto right_node = std::pair(r->type, r->node_rank);
    if (left_node == right_node && l->first <= r->last && r->first <= l->last) {
      return std::string(l->type) + ' ' + std::to_string(std::max(l->first, r->first)) +
             " of node " + std::to_string(l->node_rank);
    }
    if (std::tuple(left_node, l->last) < std::tuple(right_node, r->last)) {
      ++l;
    } else {
      ++r;
    }
  }
  return std::nullopt;
}

bool lies_strictly_inside(const Inventory& inventory,
                          const std::vector<PlacementRule>& rules,
                          std::string_view inner,
                          std::string_view outer) {
  PlacementErrors none;
  const ReadRules read = read_rules(inventory, rules, none);
  const ReadRule* const in = read.find(inner);
  const ReadRule* const out = read.find(outer);
  if (in == nullptr || out == nullptr || !in->is_sound() || !out->is_sound()) return false;
  const std::vector<DeviceSpan> within = devices_of(*in);
  const std::vector<DeviceSpan> around = devices_of(*out);
  return without(within, around).empty() && !without(around, within).empty();
}

}  // namespace orrery::placement
