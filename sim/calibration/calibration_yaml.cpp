#include <string_view>

#include "scenarios/language/yaml/calibration_file.hpp"
#include "scenarios/language/yaml/yaml_text.hpp"
#include "sim/calibration/calibration.hpp"

namespace orrery::sim {
namespace {

using scenarios::FlowMap;
using scenarios::yaml_duration;
using scenarios::yaml_number;
using scenarios::yaml_spread;
using scenarios::yaml_string;

/// Four digits say more than is known.
std::string rounded_number(double value) {
  return yaml_number(static_cast<double>(static_cast<std::int64_t>(value * 1e4 + 0.5)) / 1e4);
}

/// A time that is known to a few milliseconds has no nanoseconds.
Duration readable(Duration time) {
  constexpr std::int64_t kMicrosecond = 1'000;
  if (time.ns < 1'000'000) return time;
  return Duration{(time.ns + kMicrosecond / 2) / kMicrosecond * kMicrosecond};
}

scenarios::TimeSpread readable(scenarios::TimeSpread spread) {
  for (Duration& time : spread.quantiles) time = readable(time);
  return spread;
}

std::string readable_text(Duration time) { return yaml_duration(readable(time)); }

class CalibrationWriter {
 public:
  CalibrationWriter(const Calibration& calibration, const std::string& source)
      : calibration_(calibration), source_(source) {}

  std::string take() {
    out_ = "# What starting, stopping and saving take, learned by orrery calibrate from " +
           source_ + ".\n# A scenario reads it by: calibration: FILE\n";
    for (const std::string& remark : calibration_.remarks) out_ += "# " + remark + ".\n";
    out_ += "version: " + std::to_string(scenarios::kCalibrationVersion) + "\n";
    put_timing();
    if (calibration_.planner_latency > Duration::zero())
      out_ += "planner: {latency: " + readable_text(calibration_.planner_latency) + "}\n";
    put_speeds();
    put_observed();
    return std::move(out_);
  }

 private:
  void put(std::string_view key, Duration time, const scenarios::TimeSpread& spread) {
    if (time == Duration::zero() && spread.empty()) return;
    lines_ += "  " + std::string(key) + ": " +
              (spread.empty() ? readable_text(time) : yaml_spread(readable(spread))) + "\n";
  }

  void put_timing() {
    const scenarios::Timing& timing = calibration_.timing;
    put("start", timing.start, timing.spread.start);
    put("stop", timing.stop, timing.spread.stop);
    put("restore", timing.restore, timing.spread.restore);
    put("rescale", timing.rescale, timing.spread.rescale);
    put("checkpoint_interval", timing.checkpoint_interval, {});
    put("checkpoint_cost", timing.checkpoint_cost, {});
    if (!lines_.empty()) out_ += "timing:\n" + lines_;
  }

  void put_speeds() {
    if (calibration_.speeds.size() < 2) return;
    out_ += "cluster:\n  devices:\n";
    for (const FittedSpeed& speed : calibration_.speeds)
      out_ += "    " + yaml_string(speed.model) + ": {speed: " + rounded_number(speed.speed) +
              "}  # seen " + std::to_string(speed.count) + " times, " +
              rounded_number(speed.least) + " to " + rounded_number(speed.most) + "\n";
  }

  void put_observed() {
    out_ += "observed:\n  journals: " + std::to_string(calibration_.journals) +
            "\n  jobs: " + std::to_string(calibration_.jobs) +
            "\n  length: " + readable_text(calibration_.length) +
            "\n  failures_that_took_work: " + std::to_string(calibration_.losses) + "\n";
    for (const FittedTime& time : calibration_.times) {
      FlowMap map;
      map.integer("samples", static_cast<std::int64_t>(time.count));
      map.put("shortest", readable_text(time.shortest)).put("p10", readable_text(time.p10));
      map.put("p50", readable_text(time.p50)).put("p90", readable_text(time.p90));
      map.put("longest", readable_text(time.longest));
      if (time.held_out)
        map.put("held_out_error_p50", rounded_number(time.held_out->error_p50))
            .put("held_out_error_p90", rounded_number(time.held_out->error_p90))
            .put("held_out_inside_p10_p90", rounded_number(time.held_out->inside));
      out_ += "  " + std::string(orrery::to_string(time.kind)) + ": " + map.text() + "\n";
    }
  }

  const Calibration& calibration_;
  const std::string& source_;
  std::string out_;
  std::string lines_;
};

}  // namespace

std::string calibration_yaml(const Calibration& calibration, const std::string& source) {
  return CalibrationWriter(calibration, source).take();
}

}  // namespace orrery::sim
