#include "core/forecast/forecast_json.hpp"

#include "core/base/utc_text.hpp"

namespace orrery {
namespace {

void put_in(JsonText& json, std::string_view key, Instant at, Instant now) {
  if (at.is_never())
    json.key(key).null();
  else
    json.field(key, (at - now).in_seconds());
}

void put_spread(JsonText& json, std::string_view key, const Spread& spread, Instant now) {
  json.key(key).begin_object();
  put_in(json, "p10", spread.p10, now);
  put_in(json, "p50", spread.p50, now);
  put_in(json, "p90", spread.p90, now);
  json.end_object();
}

void put_job(JsonText& json, const ForetoldJob& job, const ForecastAnswer& answer) {
  json.begin_object().field("name", job.name).field("runs", job.runs);
  put_in(json, "starts_in_s", job.start.p50, answer.now);
  put_in(json, "ends_in_s", job.end.p50, answer.now);
  if (answer.runs > 1) {
    put_spread(json, "starts_in", job.start, answer.now);
    put_spread(json, "ends_in", job.end, answer.now);
  }
  json.field("succeeds", job.succeeds).field("never_fits", job.never_fits);
  json.key("nodes").begin_array();
  for (const std::string& node : job.nodes) json.value(node);
  json.end_array().field("waits_for", job.waits_for);
  json.field("remaining_s", job.remaining.in_seconds());
  json.field("remaining_known", to_string(job.known)).end_object();
}

void put_delay(JsonText& json, const ForetoldDelay& delay) {
  json.begin_object().field("name", delay.name);
  if (delay.by.is_forever())
    json.key("by_s").null();
  else
    json.field("by_s", delay.by.in_seconds());
  json.end_object();
}

}  // namespace

void write_forecast(JsonText& json, const ForecastAnswer& answer) {
  json.field("at", utc_text(answer.now)).key("jobs").begin_array();
  for (const ForetoldJob& job : answer.jobs) put_job(json, job, answer);
  json.end_array().key("delays");
  if (answer.has_delays) {
    json.begin_array();
    for (const ForetoldDelay& delay : answer.delays) put_delay(json, delay);
    json.end_array();
  } else {
    json.null();
  }
  json.field("runs", answer.runs).field("records", answer.records);
  json.field("cut_short", answer.cut_short).field("refused", answer.refused);
}

}  // namespace orrery
