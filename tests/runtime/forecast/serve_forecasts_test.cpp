// The process that is given one state and answers questions about it.

#include "runtime/forecast/serve_forecasts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/forecast/forecast_frames.hpp"
#include "runtime/planner/policy_process.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kAnswerMax = 1 << 20;

/// The next frame, which has to be of this kind.
std::vector<std::byte> heard(PolicyProcess& process, FrameKind expected) {
  std::uint8_t kind = 0;
  std::vector<std::byte> payload;
  const auto deadline = PolicyProcess::Clock::now() + std::chrono::minutes(1);
  EXPECT_EQ(process.read(kind, payload, kAnswerMax, deadline), Exchange::Done);
  EXPECT_EQ(kind, static_cast<std::uint8_t>(expected));
  return payload;
}

// Each answer takes the controller for itself.
TEST(ServeForecasts, AnswersEveryQuestionFromTheStateThatItWasGiven) {
  State state;
  state.add_job(std::make_shared<const JobSpec>(tests::job("waits").spec()));
  state.add_job(std::make_shared<const JobSpec>(tests::job("too").spec()));
  PolicyProcess process(-1);
  ASSERT_TRUE(process.start({PLANTED_FORECASTER}));
  PolicySpec policy;
  policy.name = "answers";
  ByteWriter out;
  write_begin(out, policy, Bytes{}, {}, state);
  ForecastQuestion question;
  write_question(out, question);
  write_question(out, question);
  question.runs = 7;
  write_question(out, question);
  const auto deadline = PolicyProcess::Clock::now() + std::chrono::minutes(1);
  ASSERT_EQ(process.write(out.bytes(), deadline), Exchange::Done);
  heard(process, FrameKind::Ready);
  const std::vector<std::byte> first = heard(process, FrameKind::Answer);
  EXPECT_EQ(heard(process, FrameKind::Answer), first);
  const std::vector<std::byte> third = heard(process, FrameKind::Answer);
  ForecastAnswer answer;
  ByteReader in(third);
  ASSERT_TRUE(read_forecast_answer(in, answer));
  EXPECT_EQ(answer.runs, 7U);
  ASSERT_EQ(answer.jobs.size(), 2U);
  EXPECT_EQ(answer.jobs[1].name, "default.too");
}

}  // namespace
}  // namespace orrery::runtime
