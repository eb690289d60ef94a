#include "runtime/forecast/forecast_frames.hpp"

#include <utility>

#include "core/record/codec.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

void put_question(ByteWriter& out, const ForecastQuestion& question) {
  Encoder encoder(out);
  encoder.put(question.job);
  encoder.put(question.submitted != nullptr);
  if (question.submitted != nullptr) encoder.put(question.submitted);
  encoder.put(question.runs);
  encoder.put(question.arrivals);
  encoder.put(question.seed);
  encoder.put(question.records_max);
}

void write_question(ByteWriter& out, const ForecastQuestion& question) {
  const FrameWriter frame(out, FrameKind::Ask);
  put_question(out, question);
}

bool read_question(ByteReader& in, ForecastQuestion& question) {
  Decoder decoder(in);
  decoder.get(question.job);
  if (in.boolean()) {
    JobSpec spec;
    decoder.get(spec);
    question.submitted = std::make_shared<const JobSpec>(std::move(spec));
  }
  decoder.get(question.runs);
  decoder.get(question.arrivals);
  decoder.get(question.seed);
  decoder.get(question.records_max);
  return decoder.ok() && in.finished();
}

void write_forecast_answer(ByteWriter& out, const ForecastAnswer& answer) {
  const FrameWriter frame(out, FrameKind::Answer);
  Encoder encoder(out);
  encoder.put(answer);
}

bool read_forecast_answer(ByteReader& in, ForecastAnswer& answer) {
  Decoder decoder(in);
  decoder.get(answer);
  return decoder.ok() && in.finished();
}

}  // namespace orrery::runtime
