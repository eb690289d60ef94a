#include "runtime/workers/options.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "core/base/number_text.hpp"

namespace orrery::worker {
namespace {

using Take = std::function<std::optional<std::string>(Options&, std::string_view)>;

struct OptionRow {
  std::string_view name;
  std::string_view value;  ///< Placeholder in the help; empty: a switch.
  std::string_view help;
  Take take;  ///< Says what is needed where the value is no good.
};

template <class T>
Take whole_number(T Options::*member, T least, T most) {
  return [=](Options& options, std::string_view text) -> std::optional<std::string> {
    const std::optional<T> value = parsed_number<T>(text);
    if (!value || *value < least || *value > most)
      return "needs a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    options.*member = *value;
    return std::nullopt;
  };
}

Take text(std::string Options::*member) {
  return [=](Options& options, std::string_view value) -> std::optional<std::string> {
    if (value.empty()) return "needs a value";
    options.*member = value;
    return std::nullopt;
  };
}

Take time(std::function<void(Options&, Milliseconds)> set) {
  return [=](Options& options, std::string_view text) -> std::optional<std::string> {
    const Result<Milliseconds> value = time_of(text);
    if (!value) return value.errors().front().message;
    set(options, *value);
    return std::nullopt;
  };
}

std::optional<std::string> take_backend(Options& options, std::string_view value) {
  for (const std::string_view known : {"auto", "ring", "gloo", "nccl"})
    if (value == known) {
      options.backend = value;
      return std::nullopt;
    }
  return "needs auto, ring, gloo or nccl";
}

const std::array<OptionRow, 14>& rows() {
  constexpr auto kMany = std::numeric_limits<std::int64_t>::max() / 2;
  static const std::array<OptionRow, 14> kRows = {{
      {"--steps",
       "N",
       "steps of the whole job, resumed ones included; 0: until asked to stop (100)",
       whole_number(&Options::steps, std::int64_t{0}, kMany)},
      {"--size",
       "M",
       "rows and columns of the matrices (256)",
       whole_number(&Options::size, 1, 16384)},
      {"--backend", "NAME", "collectives: auto, ring, gloo or nccl (auto)", take_backend},
      {"--checkpoint",
       "FILE",
       "resume from it, write it every few steps and when asked to stop",
       text(&Options::checkpoint)},
      {"--checkpoint-every",
       "N",
       "steps between checkpoints of rank 0 (10)",
       whole_number(&Options::checkpoint_every, std::int64_t{1}, kMany)},
      {"--report-every",
       "N",
       "steps between profilings (5)",
       whole_number(&Options::report_every, std::int64_t{1}, kMany)},
      {"--step-time-min",
       "TIME",
       "a shorter step waits until it took so long, such as 50ms (0s)",
       time([](Options& options, Milliseconds value) { options.step_time_min = value; })},
      {"--build-timeout",
       "TIME",
       "until all of a generation have found each other (10m)",
       time([](Options& options, Milliseconds value) { options.times.build = value; })},
      {"--operation-timeout",
       "TIME",
       "one all-reduce or barrier (30s)",
       time([](Options& options, Milliseconds value) { options.times.operation = value; })},
      {"--membership-timeout",
       "TIME",
       "from a lost peer to the agent's next membership (10m)",
       time([](Options& options, Milliseconds value) { options.membership_timeout = value; })},
      {"--nccl-library",
       "FILE",
       "libnccl.so.2, where it is not in the usual places",
       text(&Options::nccl_library)},
      {"--json",
       "",
       "one JSON document about the run on standard output, all else on the other",
       [](Options& options, std::string_view) -> std::optional<std::string> {
         options.json = true;
         return std::nullopt;
       }},
      {"--help",
       "",
       "this text",
       [](Options& options, std::string_view) -> std::optional<std::string> {
         options.help = true;
         return std::nullopt;
       }},
      {"-h",
       "",
       "",
       [](Options& options, std::string_view) -> std::optional<std::string> {
         options.help = true;
         return std::nullopt;
       }},
  }};
  return kRows;
}

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : rows())
    if (row.name == name) return &row;
  return nullptr;
}

Error refusal(std::string_view subject, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, std::string(subject.substr(0, 100)), std::move(message)};
}

}  // namespace

Result<Milliseconds> time_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const double factor = unit == "ms" ? 1 : unit == "s" ? 1e3 : unit == "m" ? 60e3 : 0;
  const double time = value * factor;
  if (error != std::errc() || factor == 0 || !(time >= 0 && time <= 24 * 3600e3))
    return refusal(text, "needs a time of at most a day, such as 250ms, 1.5s or 2m");
  return Milliseconds(static_cast<std::int64_t>(std::ceil(time)));
}

Result<Options> options_of(std::span<const char* const> arguments) {
  Options out;
  Errors errors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const OptionRow* row = find_row(name);
    if (row == nullptr) {
      errors.push_back(refusal(name, "is no option; --help lists them"));
      continue;
    }
    if (row->value.empty() && value) {
      errors.push_back(refusal(name, "is a switch and takes no value"));
      continue;
    }
    if (!row->value.empty() && !value) {
      if (i + 1 == arguments.size()) {
        errors.push_back(refusal(name, "needs a value, " + std::string(row->value)));
        continue;
      }
      value = arguments[++i];
    }
    const std::optional<std::string> wrong = row->take(out, value.value_or(""));
    if (wrong)
      errors.push_back(refusal(name, "\"" + std::string(value->substr(0, 100)) + "\": " + *wrong));
  }
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
  for (const OptionRow& row : rows()) {
    if (row.help.empty()) continue;
    std::string left = "  " + std::string(row.name) + " " + std::string(row.value);
    left.resize(std::max<std::size_t>(left.size() + 1, 30), ' ');
    out += left + std::string(row.help) + "\n";
  }
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
      " & done; wait\n\n"
      "Exit: 0 all steps done; 143 asked to stop by SIGTERM before, 130 by SIGINT; 1 peers were\n"
      "lost and no next generation came, or something computed wrongly; 2 bad input.\n";
  return out;
}

}  // namespace orrery::worker
