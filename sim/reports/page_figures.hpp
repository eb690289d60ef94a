// The figures of a page that are no rectangles: distributions, curves, links, decision times.
#pragma once

#include <vector>

#include "core/base/json_text.hpp"
#include "sim/reports/report_html.hpp"

namespace orrery::sim {

/// Seconds to the microsecond, so that the text is short.
double page_seconds(std::int64_t ns);

inline double page_seconds(Instant at) { return page_seconds(at.ns); }

/// Appends an array with `of(item)` for each item.
template <class Range, class Of>
void put_column(std::string_view name, const Range& items, JsonText& json, Of&& of) {
  json.key(name).begin_array();
  for (const auto& item : items) json.value(of(item));
  json.end_array();
}

void put_sample(const SortedSample& sample, JsonText& json);

void put_sample(std::string_view name, const SortedSample& sample, JsonText& json);

void put_series(std::string_view name, const StepSeries& series, JsonText& json);

/// The mean of a series between two times; 0 before its first point.
double mean_between(const StepSeries& series, Instant from, Instant to);

/// The links that were busiest in the mean, or null where there were none. Adds a sentence to
/// `thinned` where some are left out.
void put_links(const Timeline& timeline,
               const PageLimits& limits,
               JsonText& json,
               std::vector<std::string>& thinned);

/// Appends the histogram of what the plans took, by tenths of a decade.
void put_decision_times(const Timeline& timeline, JsonText& json);

}  // namespace orrery::sim
