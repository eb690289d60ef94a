// A controller driven by hand with a timeline that hears it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/reports/timeline.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::sim {

class Recorded : public tests::ControllerHarness {
 public:
  explicit Recorded(const std::vector<NodeGroup>& groups, TimelineLimits limits = {})
      : ControllerHarness(groups), timeline(groups, limits) {}

  Timeline timeline;

  /// Submits; nothing about it has been handed on before.
  JobId come(const tests::JobBuilder& what) {
    const JobId id = submit(what);
    timeline.submitted(id, now);
    tell();
    return id;
  }

  /// Hands on what has been told since.
  void tell() {
    timeline.observe(std::span(notices).subspan(told_), controller.state());
    told_ = notices.size();
  }

  /// The same, of what happened at `then` already.
  void tell_late(Instant then) {
    for (Notice& notice : std::span(notices).subspan(told_)) notice.occurred_at = then;
    tell();
  }

  void wait_s(std::int64_t seconds) { pass(Duration::seconds(seconds)); }

  /// "job#k from-to node:devices ...", seconds, one line a segment.
  std::string segments() {
    timeline.close(now);
    std::string out;
    for (const Segment& segment : timeline.segments()) {
      out += std::to_string(segment.job.value) + "#" + std::to_string(segment.k) + " " +
             std::to_string(segment.from.ns / 1'000'000'000) + "-" +
             std::to_string(segment.to.ns / 1'000'000'000);
      for (const DevicePart& part : timeline.parts(segment))
        out += " " + std::to_string(part.node.value) + ":" + std::to_string(part.devices) +
               (part.thousandths == 1000 ? "" : "*" + std::to_string(part.thousandths));
      out += "\n";
    }
    return out;
  }

 private:
  std::size_t told_ = 0;
};

}  // namespace orrery::sim
