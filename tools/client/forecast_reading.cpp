#include "tools/client/forecast_reading.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/client/json_reading.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

Instant instant_of(const json& object, const char* key) {
  if (!member_of(object, key).is_number()) return Instant::never();
  return Instant::zero() + Duration::from_seconds(real_of(object, key));
}

Spread spread_in(const json& job, const char* spread, const char* median) {
  const json& all = member_of(job, spread);
  if (all.is_object())
    return {instant_of(all, "p10"), instant_of(all, "p50"), instant_of(all, "p90")};
  const Instant at = instant_of(job, median);
  return {at, at, at};
}

ForetoldJob job_of(const json& job) {
  ForetoldJob out;
  out.name = text_of(job, "name");
  out.runs = truth_of(job, "runs");
  out.known =
      enum_from<RemainingKnown>(text_of(job, "remaining_known")).value_or(RemainingKnown::Nothing);
  out.remaining = Duration::from_seconds(real_of(job, "remaining_s"));
  out.start = spread_in(job, "starts_in", "starts_in_s");
  out.end = spread_in(job, "ends_in", "ends_in_s");
  out.succeeds = truth_of(job, "succeeds");
  out.never_fits = truth_of(job, "never_fits");
  for (const json& node : list_of(job, "nodes"))
    if (node.is_string()) out.nodes.push_back(node.get<std::string>());
  out.waits_for = text_of(job, "waits_for");
  return out;
}

}  // namespace

ForecastAnswer forecast_of(const json& document) {
  ForecastAnswer out;
  for (const json& job : list_of(document, "jobs")) out.jobs.push_back(job_of(job));
  out.has_delays = member_of(document, "delays").is_array();
  for (const json& delay : list_of(document, "delays")) {
    const bool known = member_of(delay, "by_s").is_number();
    out.delays.push_back(
        {text_of(delay, "name"),
         known ? Duration::from_seconds(real_of(delay, "by_s")) : Duration::forever()});
  }
  out.runs = static_cast<std::uint32_t>(number_of(document, "runs"));
  out.records = static_cast<std::uint64_t>(number_of(document, "records"));
  out.cut_short = truth_of(document, "cut_short");
  return out;
}

std::string forecast_query(const ForecastQuestion& how) {
  return "&runs=" + std::to_string(how.runs) + "&arrivals=" + std::string(to_string(how.arrivals)) +
         "&seed=" + std::to_string(how.seed);
}

HttpRequest hypothetical(const JobSource& source,
                         const ForecastQuestion& how,
                         const std::string& only) {
  std::string target = "/api/v1/forecast?file=" + url_escaped(source.path) + forecast_query(how);
  for (const std::string& set : source.sets) target += "&set=" + url_escaped(set);
  if (!only.empty()) target += "&only=" + url_escaped(only);
  return {.method = "POST",
          .target = std::move(target),
          .body = source.text,
          .content_type = "application/yaml",
          .patience = kForecastPatience};
}

}  // namespace orrery::cli
