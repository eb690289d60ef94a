#include "runtime/workers/options.hpp"

#include <array>
#include <limits>
#include <optional>

#include "runtime/workers/option_rows.hpp"

namespace orrery::worker {
namespace {

using Row = OptionRow<Options>;

std::optional<std::string> take_backend(Options& options, std::string_view value) {
  for (const std::string_view known : {"auto", "ring", "gloo", "nccl"})
    if (value == known) {
      options.backend = value;
      return std::nullopt;
    }
  return "needs auto, ring, gloo or nccl";
}

std::span<const Row> rows() {
  constexpr auto kMany = std::numeric_limits<std::int64_t>::max() / 2;
  static const std::array<Row, 15> kRows = {{
      {"--steps",
       "N",
       "steps of the whole job, resumed ones included; 0: until asked to stop (100)",
       Row::whole_number(&Options::steps, std::int64_t{0}, kMany)},
      {"--size",
       "M",
       "rows and columns of the matrices (256)",
       Row::whole_number(&Options::size, 1, 16384)},
      {"--backend", "NAME", "collectives: auto, ring, gloo or nccl (auto)", take_backend},
      {"--checkpoint",
       "FILE",
       "resume from it, write it every few steps and when asked to stop",
       Row::text(&Options::checkpoint)},
      {"--checkpoint-every",
       "N",
       "steps between checkpoints of rank 0 (10)",
       Row::whole_number(&Options::checkpoint_every, std::int64_t{1}, kMany)},
      {"--report-every",
       "N",
       "steps between profilings (5)",
       Row::whole_number(&Options::report_every, std::int64_t{1}, kMany)},
      {"--step-time-min",
       "TIME",
       "a shorter step waits until it took so long, such as 50ms (0s)",
       Row::time([](Options& options, Milliseconds value) { options.step_time_min = value; })},
      {"--measure",
       "N",
       "measure all-reduce by size, product and checkpoint N times each, and train nothing",
       Row::whole_number(&Options::measure, std::int64_t{1}, std::int64_t{100'000})},
      {"--build-timeout",
       "TIME",
       "until all of a generation have found each other (10m)",
       Row::time([](Options& options, Milliseconds value) { options.times.build = value; })},
      {"--operation-timeout",
       "TIME",
       "one all-reduce or barrier (30s)",
       Row::time([](Options& options, Milliseconds value) { options.times.operation = value; })},
      {"--membership-timeout",
       "TIME",
       "from a lost peer to the agent's next membership (10m)",
       Row::time([](Options& options, Milliseconds value) { options.membership_timeout = value; })},
      {"--nccl-library",
       "FILE",
       "libnccl.so.2, where it is not in the usual places",
       Row::text(&Options::nccl_library)},
      {"--json",
       "",
       "one JSON document about the run on standard output, all else on the other",
       Row::flag(&Options::json)},
      {"--help", "", "this text", Row::flag(&Options::help)},
      {"-h", "", "", Row::flag(&Options::help)},
  }};
  return kRows;
}

}  // namespace

Result<Options> options_of(std::span<const char* const> arguments) {
  Options out;
  Errors errors = take_options(rows(), arguments, out);
  if (!errors.empty()) return errors;
  return out;
}

std::string help_text(std::string_view program, std::string_view backends) {
  std::string out =
      "Usage: " + std::string(program) +
      " [OPTIONS]\n\n"
      "A sample worker: timed steps of matrix products and an all-reduce per step.\n"
      "Its place in the job comes from the environment: ORRERY_RANK, ORRERY_WORLD_SIZE,\n"
      "ORRERY_GENERATION, MASTER_ADDR and MASTER_PORT; without them it is alone. It\n"
      "follows changes of membership that the agent tells on ORRERY_SOCKET.\n\n"
      "Options:\n";
  out += option_lines(rows());
  const std::string name(program);
  out +=
      "\nBackends, as auto tries them: " + std::string(backends) +
      "\n\nExamples:\n"
      "  " +
      name +
      " --steps 20\n"
      "  " +
      name +
      " --steps 1000 --checkpoint steps.txt     (SIGTERM: saves, exits 143)\n"
      "  for r in 0 1; do ORRERY_RANK=$r ORRERY_WORLD_SIZE=2 MASTER_PORT=22270 \\\n"
      "    " +
      name +
      " & done; wait\n"
      "  " +
      name +
      " --measure 20 --size 1024 --json\n\n"
      "Exit: 0 all steps done; 143 asked to stop by SIGTERM before, 130 by SIGINT; 1 peers were\n"
      "lost and no next generation came, or something computed wrongly; 2 bad input.\n";
  return out;
}

}  // namespace orrery::worker
