#include "sim/results/summary.hpp"

#include "core/record/record_text.hpp"

namespace orrery::sim {

Summary::Summary() = default;
Summary::Summary(const Summary& other) = default;
Summary::Summary(Summary&& other) noexcept = default;
Summary& Summary::operator=(const Summary& other) = default;
Summary& Summary::operator=(Summary&& other) noexcept = default;
Summary::~Summary() = default;

void put_summary(const Summary& summary, MeasuredAs measured, JsonText& json) {
  JsonFields fields(json);
  json.begin_object();
  Summary::fields(summary, fields);
  if (measured == MeasuredAs::SubObject) {
    fields.field("measured", summary.measured);
  } else {
    Measured::fields(summary.measured, fields);
  }
  json.end_object();
}

std::string summary_file(const Summary& summary) {
  JsonText json(JsonText::Layout::Indented);
  put_summary(summary, MeasuredAs::SubObject, json);
  return json.take() + "\n";
}

}  // namespace orrery::sim
