#include "sim/reports/step_series.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::sim {

void StepSeries::add(Instant at, double value) {
  if (width_ > 0) {
    feed(at, value, value);
    return;
  }
  if (!points_.empty()) {
    invariant(at >= points_.back().at, "a series is told in order of time");
    if (points_.back().at == at) points_.pop_back();
  }
  append({at, value, value});
  if (points_.size() > points_max_) coarsen();
}

void StepSeries::append(const SeriesPoint& point) {
  const bool same = !points_.empty() && points_.back().value == point.value &&
                    points_.back().highest == point.highest;
  if (!same) points_.push_back(point);
}

void StepSeries::feed(Instant at, double value, double highest) {
  pass_to(at);
  value_ = value;
  value_top_ = highest;
}

// What holds goes on until `at`; every stretch that ends on the way becomes a point.
void StepSeries::pass_to(Instant at) {
  while (at.ns - begin_ >= width_) {
    const std::int64_t end = begin_ + width_;
    if (end > fed_) {
      sum_ += value_ * static_cast<double>(end - fed_);
      top_ = std::max(top_, value_top_);
    }
    append({Instant{begin_}, sum_ / static_cast<double>(width_), top_});
    // Whole stretches without a change are one point.
    begin_ = end;
    fed_ = end;
    sum_ = 0;
    top_ = 0;
    const std::int64_t whole = (at.ns - begin_) / width_;
    if (whole > 1) {
      append({Instant{begin_}, value_, value_top_});
      begin_ += (whole - 1) * width_;
      fed_ = begin_;
    }
    if (points_.size() > points_max_) coarsen();
  }
  if (at.ns > fed_) {
    sum_ += value_ * static_cast<double>(at.ns - fed_);
    top_ = std::max(top_, value_top_);
    fed_ = at.ns;
  }
}

// Doubles the stretch until half of the room is free again.
void StepSeries::coarsen() {
  const std::vector<SeriesPoint> before = std::move(points_);
  const bool was_exact = width_ == 0;
  const std::int64_t first = before.front().at.ns;
  const std::int64_t last = was_exact ? before.back().at.ns : begin_;
  const StepSeries now = *this;
  if (was_exact) width_ = 1;
  while ((last - first) / width_ > static_cast<std::int64_t>(points_max_ / 2)) width_ *= 2;
  if (!was_exact && width_ == now.width_) width_ *= 2;
  points_.clear();
  begin_ = first - first % width_;
  fed_ = first;
  sum_ = 0;
  top_ = 0;
  value_ = 0;
  value_top_ = 0;
  for (const SeriesPoint& point : before) feed(point.at, point.value, point.highest);
  if (was_exact) return;
  // The unfinished stretch lies as a whole inside one of the wider ones.
  pass_to(Instant{now.begin_});
  sum_ += now.sum_;
  top_ = std::max(top_, now.top_);
  fed_ = now.fed_;
  value_ = now.value_;
  value_top_ = now.value_top_;
}

void StepSeries::close(Instant end) {
  if (width_ == 0 || end.ns <= begin_) return;
  pass_to(end);
  if (fed_ > begin_) append({Instant{begin_}, sum_ / static_cast<double>(fed_ - begin_), top_});
}

}  // namespace orrery::sim
