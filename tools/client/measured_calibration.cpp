#include "tools/client/measured_calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include "core/base/json_text.hpp"
#include "core/base/percentile.hpp"
#include "scenarios/language/yaml/calibration_file.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kQuantiles = 11;
/// The star of the modelled networks: from a node to the switch, and to another node.
constexpr double kHops = 2;

double quantile(std::vector<double> values, double q) {
  return percentile_by_selection(std::span(values), q);
}

std::string printed(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// Whole microseconds.
std::string duration_text(double seconds) {
  return std::to_string(static_cast<long long>(std::llround(seconds * 1e6))) + "us";
}

std::string timing_text(const std::vector<double>& samples) {
  if (samples.size() == 1) return duration_text(samples.front());
  std::string out;
  for (std::size_t k = 0; k < kQuantiles; ++k)
    out += (k == 0 ? "" : ", ") +
           duration_text(quantile(samples, static_cast<double>(k) / (kQuantiles - 1)));
  return "{quantiles: [" + out + "]}";
}

/// Bytes per second, without an exponent.
std::string bandwidth_text(double bandwidth) {
  return bandwidth >= 1e7 ? printed("%.0fMB/s", bandwidth / 1e6)
                          : printed("%.0fkB/s", std::max(1.0, bandwidth / 1e3));
}

/// A sample by name; every second one is held out where there are four or more.
CalibrationRow row_of(const std::string& name, const std::vector<double>& samples) {
  CalibrationRow row{.name = name, .samples = samples.size()};
  if (samples.empty()) return row;
  row.p10_s = quantile(samples, 0.1);
  row.p50_s = quantile(samples, 0.5);
  row.p90_s = quantile(samples, 0.9);
  if (samples.size() < 4) return row;
  std::vector<double> fitted;
  std::vector<double> held_out;
  for (std::size_t i = 0; i < samples.size(); ++i)
    (i % 2 == 0 ? fitted : held_out).push_back(samples[i]);
  const double median = quantile(fitted, 0.5);
  std::vector<double> errors;
  double inside = 0;
  for (const double each : held_out) {
    errors.push_back(std::abs(each - median) / std::max(median, 1e-9));
    inside += each >= quantile(fitted, 0.1) && each <= quantile(fitted, 0.9) ? 1 : 0;
  }
  row.error_p50 = quantile(errors, 0.5);
  row.inside = inside / static_cast<double>(held_out.size());
  return row;
}

std::string size_text(double bytes) {
  return bytes >= 1 << 20 ? printed("%.4g MiB", bytes / (1 << 20))
                          : printed("%.4g KiB", bytes / (1 << 10));
}

}  // namespace

std::vector<CalibrationRow> MeasuredCalibration::rows() const {
  std::vector<CalibrationRow> out;
  const auto add = [&](const std::string& name, const std::vector<double>& samples) {
    if (!samples.empty()) out.push_back(row_of(name, samples));
  };
  add("start", report.starts_s);
  add("stop", report.stops_s);
  add("rescale", report.rescales_s);
  add("membership formed", report.forming_s);
  add("product", report.multiply_s);
  const std::string bytes = size_text(report.checkpoint_bytes);
  add("checkpoint " + bytes, report.writes_s);
  add("restore " + bytes, report.reads_s);
  for (const ProbeSum& sum : report.sums)
    add("all-reduce " + size_text(sum.bytes) + ", " + std::to_string(sum.ranks) + " ranks",
        sum.times_s);
  return out;
}

std::string MeasuredCalibration::yaml(const std::string& source) const {
  std::string out = "# What orrery calibrate measured of " + source +
                    ".\n# A scenario reads it by: calibration: FILE\n";
  for (const std::string& remark : remarks) out += "# " + remark + ".\n";
  out += "version: " + std::to_string(scenarios::kCalibrationVersion) + "\ntiming:\n";
  out += "  start: " + timing_text(report.starts_s) + "\n";
  if (!report.stops_s.empty()) out += "  stop: " + timing_text(report.stops_s) + "\n";
  if (!report.rescales_s.empty()) out += "  rescale: " + timing_text(report.rescales_s) + "\n";
  if (all_reduce || !device_model.empty()) out += "cluster:\n";
  if (all_reduce)
    out +=
        "  network: {nic_bandwidth: " + bandwidth_text(all_reduce->bandwidth) + ", latency: " +
        std::to_string(static_cast<long long>(std::llround(all_reduce->latency_s / kHops * 1e9))) +
        "ns}\n";
  if (!device_model.empty())
    out += "  devices: {" + device_model +
           ": {compute: " + printed("%.1fGFLOPS", report.flops / 1e9) + "}}\n";
  out += "observed:\n  device: \"" + report.device + "\"\n  backend: \"" + report.backend +
         "\"\n  gflops: " + printed("%.4g", report.flops / 1e9) + "\n";
  if (all_reduce && all_reduce->held_out_error)
    out += "  all_reduce_held_out_error: " + printed("%.4f", *all_reduce->held_out_error) + "\n";
  for (const CalibrationRow& row : rows())
    out += "  \"" + row.name + "\": {samples: " + std::to_string(row.samples) +
           ", p10: " + duration_text(row.p10_s) + ", p50: " + duration_text(row.p50_s) +
           ", p90: " + duration_text(row.p90_s) + "}\n";
  return out;
}

std::string MeasuredCalibration::json(const std::string& file) const {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("file", file).field("device", report.device);
  json.field("backend", report.backend).field("flops", report.flops).key("all_reduce");
  if (!all_reduce) {
    json.null();
  } else {
    json.begin_object().field("latency_s", all_reduce->latency_s);
    json.field("bandwidth", all_reduce->bandwidth).key("held_out_error");
    if (all_reduce->held_out_error)
      json.value(*all_reduce->held_out_error);
    else
      json.null();
    json.end_object();
  }
  json.key("observed").begin_array();
  for (const CalibrationRow& row : rows()) {
    json.begin_object().field("time", row.name).field("samples", row.samples);
    json.field("p10_s", row.p10_s).field("p50_s", row.p50_s).field("p90_s", row.p90_s);
    json.end_object();
  }
  json.end_array().key("remarks").begin_array();
  for (const std::string& remark : remarks) json.value(remark);
  json.end_array().end_object();
  return json.take() + "\n";
}

MeasuredCalibration measured_calibration(ProbeReport report,
                                         const ProbePlan& plan,
                                         const std::vector<std::string>& models) {
  MeasuredCalibration out;
  std::vector<AllReduceSample> samples;
  for (const ProbeSum& sum : report.sums)
    if (!sum.times_s.empty()) samples.push_back({sum.ranks, sum.bytes, quantile(sum.times_s, 0.5)});
  out.all_reduce = fit_all_reduce(samples);
  out.remarks = report.remarks;
  if (samples.empty())
    out.remarks.emplace_back(
        "no job had two ranks: the all-reduce was not measured, and network is "
        "not said; name --ranks");
  else if (!out.all_reduce)
    out.remarks.emplace_back(
        "no latency and bandwidth explain the all-reduces: network is not said");
  else
    out.remarks.emplace_back(
        "network is what all-reduces came to where the ranks were: on one "
        "machine it is the loopback");
  if (out.all_reduce && !out.all_reduce->held_out_error)
    out.remarks.emplace_back(
        std::to_string(samples.size()) +
        " all-reduces were measured, which some latency and bandwidth always explain: nothing "
        "vouches for network; name a larger --size");
  if (plan.devices == 0)
    out.remarks.emplace_back(
        "ranks had no devices: the compute rate of no device model was "
        "measured; where there are GPUs name --devices 1 --worker "
        "orrery-worker-cuda");
  else if (models.size() != 1 || models.front().empty())
    out.remarks.emplace_back("devices have " + std::to_string(models.size()) +
                             " models or no name: the compute rate of none is said");
  else
    out.device_model = models.front();
  out.remarks.emplace_back(
      "a restart from a checkpoint was not measured: restore is not said; "
      "orrery calibrate --from JOURNAL learns it");
  out.report = std::move(report);
  return out;
}

}  // namespace orrery::cli
