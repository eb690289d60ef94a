// A forecast as a running controller makes it: its state is copied, encoded, and given to a process
// that is executed for it.
//
//   bench_forecast_helper PROGRAM [live jobs] [waiting jobs] [nodes]     2000 2000 16384
//
// PROGRAM is orrery-node. Prints the median, the fastest and the slowest of 21 forecasts of all
// jobs under easy: the copy, which is all that the core thread does, the whole on the other thread,
// from encoding to the answer, and the processor time that the process had for it.

#include "runtime/forecast/forecast_helper.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/control/controller.hpp"
#include "core/record/version.hpp"
#include "tools/bench/forecast_state.hpp"

namespace orrery::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 21;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Of all processes that were started and have ended.
double processor_ms() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

void print(const char* what, std::vector<double> ms) {
  std::ranges::sort(ms);
  std::printf("  %-44s p50 %8.1f ms   fastest %8.1f   slowest %8.1f\n",
              what,
              ms[ms.size() / 2],
              ms.front(),
              ms.back());
}

int run(const std::string& program, int live, int waiting, int nodes) {
  const std::vector<std::byte> bytes = forecast_state(live, waiting, nodes);
  Controller controller;
  ByteReader reader(bytes);
  if (!controller.load(reader, kRecordVersion)) return 3;
  runtime::ForecastHelperOptions options;
  options.program = {program, "serve-forecasts"};
  options.policy.name = "easy";
  options.memory = Bytes{std::int64_t{2} << 30};
  options.deadline = Duration::seconds(60);
  std::vector<double> copy_ms;
  std::vector<double> whole_ms;
  std::vector<double> process_ms;
  std::size_t jobs = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    const State copy = controller.state();
    copy_ms.push_back(ms_since(begin));
    const double before = processor_ms();
    const auto copied = Clock::now();
    const runtime::ForecastReply reply = runtime::run_forecast_helper(options, copy, {}, -1);
    whole_ms.push_back(ms_since(copied));
    process_ms.push_back(processor_ms() - before);
    if (reply.answer == nullptr) {
      std::printf("%s\n", reply.why.c_str());
      return 3;
    }
    jobs = reply.answer->jobs.size();
  }
  std::printf("%d nodes, %zu jobs that run or wait; state %.1f MB\n",
              nodes,
              jobs,
              static_cast<double>(bytes.size()) / 1e6);
  print("copying the state, on the core thread", copy_ms);
  print("encoding, process, run, answer", whole_ms);
  print("processor time of the process", process_ms);
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  const auto number = [&](int at, int usual) { return argc > at ? std::atoi(argv[at]) : usual; };
  if (argc < 2) {
    std::printf("name the program orrery-node\n");
    return 2;
  }
  return orrery::bench::run(argv[1], number(2, 2000), number(3, 2000), number(4, 16384));
}
