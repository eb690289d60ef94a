#include "sim/reports/page_selection.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace orrery::sim {
namespace {

/// Calls `visit(first, count)` for each run of set bits.
template <class Visit>
void for_each_run(std::uint64_t bits, Visit&& visit) {
  std::int32_t at = 0;
  while (bits != 0) {
    const int gap = std::countr_zero(bits);
    bits >>= gap;
    at += gap;
    const int length = std::countr_one(bits);
    visit(at, length);
    bits = length == 64 ? 0 : bits >> length;
    at += length;
  }
}

/// With commas between thousands, as the page writes numbers.
std::string number(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

class Selector {
 public:
  Selector(const RunPage& run, const PageLimits& limits) : run_(run), limits_(limits) {}

  PageSelection take() {
    choose_nodes();
    gather_parts();
    drop_short_parts();
    choose_jobs();
    say_what_the_timeline_lacks();
    return std::move(out_);
  }

 private:
  void choose_nodes() {
    const std::size_t count = run_.timeline.node_count();
    std::vector<std::uint64_t> parts_on(count);
    for (const Segment& segment : run_.timeline.segments())
      for (const DevicePart& part : run_.timeline.parts(segment)) ++parts_on[part.node.index()];
    std::size_t stride = 1;
    while (count / stride > limits_.nodes_max) stride *= 2;
    const auto parts_with = [&](std::size_t step) {
      std::uint64_t sum = 0;
      for (std::size_t node = 0; node < count; node += step) sum += parts_on[node];
      return sum;
    };
    // Fewer nodes than these say little about a cluster.
    constexpr std::size_t kNodesMin = 16;
    while (parts_with(stride) > limits_.parts_max && count / (stride * 2) >= kNodesMin) stride *= 2;
    out_.node_row.assign(count, -1);
    for (std::size_t node = 0; node < count; node += stride) {
      out_.node_row[node] = static_cast<std::int32_t>(out_.nodes.size());
      out_.nodes.push_back(NodeId{static_cast<std::uint32_t>(node)});
    }
    if (stride > 1)
      out_.thinned.push_back("The Gantt chart shows " + number(out_.nodes.size()) + " of " +
                             number(count) + " nodes: one in " + number(stride) +
                             ", with all that happened on it.");
  }

  void gather_parts() {
    const auto segments = run_.timeline.segments();
    for (std::size_t i = 0; i < segments.size(); ++i)
      for (const DevicePart& part : run_.timeline.parts(segments[i])) {
        if (out_.node_row[part.node.index()] < 0) continue;
        for_each_run(part.devices, [&](std::int32_t first, std::int32_t devices) {
          out_.parts.push_back({static_cast<std::uint32_t>(i), part.node, first, devices, &part});
        });
      }
  }

  Duration lasting(const DrawnPart& part) const {
    const Segment& segment = run_.timeline.segments()[part.segment];
    return segment.to - segment.from;
  }

  void drop_short_parts() {
    const std::size_t before = out_.parts.size();
    if (before <= limits_.parts_max) return;
    std::vector<std::size_t> order(before);  // Longest first.
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto longer = [&](std::size_t a, std::size_t b) {
      const Duration one = lasting(out_.parts[a]);
      const Duration other = lasting(out_.parts[b]);
      return one != other ? one > other : a < b;
    };
    const auto cut = order.begin() + static_cast<std::ptrdiff_t>(limits_.parts_max);
    std::ranges::nth_element(order, cut, longer);
    const Duration longest_dropped = lasting(out_.parts[*cut]);
    order.erase(cut, order.end());
    std::ranges::sort(order);
    std::vector<DrawnPart> kept;
    for (const std::size_t i : order) kept.push_back(out_.parts[i]);
    out_.parts = std::move(kept);
    out_.thinned.push_back(
        "The Gantt chart leaves out the shortest " + number(before - limits_.parts_max) + " of " +
        number(before) + " rectangles, of up to " +
        number(static_cast<std::uint64_t>(longest_dropped.in_seconds())) + " s.");
  }

  void choose_jobs() {
    const PagedArray<JobOutcome>& rows = run_.jobs.rows();
    out_.job_row.assign(rows.size(), -1);
    std::size_t drawn = 0;
    for (const DrawnPart& part : out_.parts) {
      std::int32_t& row = out_.job_row[run_.timeline.segments()[part.segment].job.index()];
      drawn += row < 0 ? 1 : 0;
      row = 0;
    }
    const std::size_t total = run_.summary.jobs_total;
    const std::size_t others = total - drawn;
    const std::size_t room = limits_.jobs_max > drawn ? limits_.jobs_max - drawn : 0;
    const std::size_t stride = others <= room ? 1 : others / std::max<std::size_t>(room, 1) + 1;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].exists()) continue;
      if (out_.job_row[i] < 0 && (room == 0 || seen++ % stride != 0)) continue;
      out_.job_row[i] = static_cast<std::int32_t>(out_.jobs.size());
      out_.jobs.push_back(JobId{static_cast<std::uint32_t>(i)});
    }
    if (out_.jobs.size() < total)
      out_.thinned.push_back(
          "The table of jobs has " + number(out_.jobs.size()) + " of " + number(total) + " jobs: " +
          (room == 0
               ? "those in the Gantt chart."
               : "those in the Gantt chart, and one in " + number(stride) + " of the others.") +
          " All figures, curves and distributions are of all jobs.");
  }

  void say_what_the_timeline_lacks() {
    if (run_.timeline.segments_left_out() > 0)
      out_.thinned.push_back("The run had " + number(run_.timeline.segments_left_out()) +
                             " more stretches of devices held than were recorded; they are missing "
                             "from the Gantt chart.");
    if (run_.timeline.devices_in_use().is_thinned() || run_.timeline.queue_length().is_thinned())
      out_.thinned.push_back(
          "Curves over time are means over short stretches of equal width; the thin line above "
          "each is the highest value in the stretch.");
  }

  const RunPage& run_;
  const PageLimits& limits_;
  PageSelection out_;
};

}  // namespace

PageSelection selected(const RunPage& run, const PageLimits& limits) {
  return Selector(run, limits).take();
}

}  // namespace orrery::sim
