#include "runtime/forecast/forecast_helper.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "runtime/forecast/forecast_frames.hpp"
#include "runtime/planner/policy_process.hpp"

namespace orrery::runtime {
namespace {

using Clock = PolicyProcess::Clock;

ForecastReply lost(ForecastLoss loss, std::string why) {
  ForecastReply out;
  out.loss = loss;
  out.why = std::move(why);
  return out;
}

/// About as many bytes as the state is encoded in, rather more than less.
std::size_t bytes_likely(const State& state) {
  constexpr std::size_t kNode = 64;
  constexpr std::size_t kJob = 512;
  constexpr std::size_t kWorker = 96;  // And its lease.
  std::size_t out = state.nodes.size() * kNode;
  state.for_each_job([&](const JobState& job) { out += kJob + job.workers.size() * kWorker; });
  return out;
}

/// One process and what comes of it.
class Helper {
 public:
  Helper(const ForecastHelperOptions& options, int stop)
      : options_(options),
        process_(stop),
        deadline_(Clock::now() + std::chrono::nanoseconds(options.deadline.ns)) {}

  ForecastReply ask(const State& state, const ForecastQuestion& question) {
    if (const Status started = process_.start(options_.program); !started)
      return lost(ForecastLoss::NotStarted, started.errors()[0].text());
    ByteWriter out;
    out.reserve(bytes_likely(state));
    write_begin(out, options_.policy, options_.memory, {}, state);
    write_question(out, question);
    if (const Exchange sent = process_.write(out.bytes(), deadline_); sent != Exchange::Done) {
      // It may have said why before it closed its end.
      return sent == Exchange::Ended ? hear(FrameKind::Ready) : failed(sent);
    }
    if (ForecastReply ready = hear(FrameKind::Ready); ready.loss != ForecastLoss::None)
      return ready;
    if (ForecastReply heard = hear(FrameKind::Answer); heard.loss != ForecastLoss::None)
      return heard;
    auto answer = std::make_shared<ForecastAnswer>();
    ByteReader in(heard_);
    if (!read_forecast_answer(in, *answer))
      return lost(ForecastLoss::Failed, "its answer cannot be read");
    ForecastReply reply;
    reply.answer = std::move(answer);
    return reply;
  }

 private:
  // Loss none: a frame of this kind, whose payload is in `heard_` then.
  ForecastReply hear(FrameKind expected) {
    std::uint8_t kind = 0;
    if (const Exchange got = process_.read(kind, heard_, options_.answer_max, deadline_);
        got != Exchange::Done)
      return failed(got);
    if (kind == static_cast<std::uint8_t>(expected)) return {};
    if (kind != static_cast<std::uint8_t>(FrameKind::Failed))
      return lost(ForecastLoss::Failed, "it said what cannot be read");
    ByteReader in(heard_);
    const std::string why(in.string());
    return why == kOutOfMemory ? out_of_memory() : lost(ForecastLoss::Failed, why);
  }

  ForecastReply out_of_memory() const {
    return lost(ForecastLoss::OutOfMemory,
                "the forecast needs more than the " + std::to_string(options_.memory.count >> 20) +
                    " MiB that forecast.memory allows; raise it in the controller's settings");
  }

  ForecastReply failed(Exchange how) {
    switch (how) {
      case Exchange::Late:
        return lost(ForecastLoss::Late,
                    "the forecast took longer than the " +
                        std::to_string(options_.deadline.ns / 1'000'000) +
                        " ms of forecast.deadline; ask for fewer runs, or raise it in the "
                        "controller's settings");
      case Exchange::TooLong:
        return lost(ForecastLoss::Failed,
                    "the answer of the forecast has more than " +
                        std::to_string(options_.answer_max >> 20) + " MiB");
      case Exchange::Stopped:
        return lost(ForecastLoss::Unavailable, "the controller ends");
      case Exchange::Done:
      case Exchange::Ended:
        break;
    }
    return lost(ForecastLoss::Ended, "the process of the forecast ended: " + process_.end());
  }

  const ForecastHelperOptions& options_;
  PolicyProcess process_;
  Clock::time_point deadline_;
  std::vector<std::byte> heard_;
};

}  // namespace

ForecastReply run_forecast_helper(const ForecastHelperOptions& options,
                                  const State& state,
                                  const ForecastQuestion& question,
                                  int stop) {
  return Helper(options, stop).ask(state, question);
}

}  // namespace orrery::runtime
