// What a controller and the process that forecasts say to each other: frames of
// runtime/planner/planner_frames.hpp. The controller begins with Begin, as to its planner, then
// asks; the process answers Begin with Ready and each Ask with Answer, or says Failed and ends.
#pragma once

#include <string_view>

#include "core/base/bytes.hpp"
#include "core/forecast/forecast_answer.hpp"

namespace orrery::runtime {

/// What a process says in Failed that has reached its limit of memory.
inline constexpr std::string_view kOutOfMemory = "out of memory";

/// The question alone, as bytes: equal ones are equal questions.
void put_question(ByteWriter& out, const ForecastQuestion& question);

/// A frame.
void write_question(ByteWriter& out, const ForecastQuestion& question);
bool read_question(ByteReader& in, ForecastQuestion& question);

/// A frame.
void write_forecast_answer(ByteWriter& out, const ForecastAnswer& answer);
bool read_forecast_answer(ByteReader& in, ForecastAnswer& answer);

}  // namespace orrery::runtime
