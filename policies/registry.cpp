#include "policies/registry.hpp"

#include <algorithm>

#include "policies/easy.hpp"
#include "policies/fifo.hpp"
#include "policies/fit.hpp"
#include "policies/las.hpp"
#include "policies/optimus.hpp"
#include "policies/parameters.hpp"
#include "policies/pollux.hpp"
#include "policies/solver/program.hpp"
#include "policies/srtf.hpp"
#include "policies/tiresias.hpp"

namespace orrery::policies {
namespace {

using Made = Result<std::unique_ptr<Policy>>;

template <class P, class... Options>
Made made(Options&&... options) {
  return std::unique_ptr<Policy>(std::make_unique<P>(std::forward<Options>(options)...));
}

constexpr ParameterRow kEasyParameters[] = {
    {"backfill_depth",
     ParameterType::Integer,
     "jobs",
     "1000",
     "0",
     "",
     "waiting jobs behind the first that are tried at a time; 0: all"},
    {"reserve_nodes",
     ParameterType::Flag,
     "",
     "false",
     "",
     "",
     "the head waits for known nodes, as in Batsim; otherwise for a number of devices"},
};

constexpr ParameterRow kLasParameters[] = {
    {"quantum",
     ParameterType::Duration,
     "",
     "1h",
     "1s",
     "",
     "how often jobs swap, and how much more service per device the one that goes must have had"},
};

constexpr ParameterRow kFitParameters[] = {
    {"period",
     ParameterType::Duration,
     "",
     "60s",
     "1s",
     "",
     "how often the replicas of elastic jobs are redistributed"},
    {"gain_min",
     ParameterType::Number,
     "part of one replica's speed",
     "0.05",
     "0",
     "1",
     "what one more replica must add at least"},
};

constexpr ParameterRow kTiresiasParameters[] = {
    {"threshold",
     ParameterType::Integer,
     "device-seconds",
     "57600",
     "1",
     "",
     "service that moves a job to the second queue"},
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
};

constexpr ParameterRow kOptimusParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
};

constexpr ParameterRow kPolluxParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
    {"restart",
     ParameterType::Duration,
     "",
     "30s",
     "0s",
     "",
     "what a change of its allocation costs a job"},
    {"fairness",
     ParameterType::Number,
     "",
     "-1",
     "-10",
     "1",
     "power of the mean of speedups: 1 the sum, 0 the geometric mean, below that fairer"},
    {"avoid_interference",
     ParameterType::Flag,
     "",
     "true",
     "",
     "",
     "two jobs that are on several nodes each share no node"},
    {"population", ParameterType::Integer, "", "100", "2", "1000", "allocations bred at a time"},
    {"generations", ParameterType::Integer, "", "100", "1", "10000", "how often, at most"},
    {"patience",
     ParameterType::Integer,
     "generations",
     "20",
     "1",
     "10000",
     "without a better allocation end the search"},
    {"nodes_min",
     ParameterType::Integer,
     "nodes",
     "0",
     "0",
     "",
     "least that are used where the utility varies their number; 0: all are, always"},
    {"utility_low",
     ParameterType::Number,
     "",
     "0.35",
     "0",
     "1",
     "mean utility below which nodes are left unused"},
    {"utility_high", ParameterType::Number, "", "0.65", "0", "1", "above which more are used"},
};

PolluxParameters pollux_parameters(const ParameterValues& values) {
  PolluxParameters out;
  out.period = values.duration("period");
  out.restart = values.duration("restart");
  out.search.fairness = values.number("fairness");
  out.search.avoid_interference = values.flag("avoid_interference");
  out.search.population = static_cast<std::int32_t>(values.integer("population"));
  out.search.generations = static_cast<std::int32_t>(values.integer("generations"));
  out.search.patience = static_cast<std::int32_t>(values.integer("patience"));
  out.autoscale.nodes_min = static_cast<std::int32_t>(
      std::min<std::int64_t>(values.integer("nodes_min"), 1'000'000'000));
  out.autoscale.utility_low = values.number("utility_low");
  out.autoscale.utility_high = values.number("utility_high");
  return out;
}

std::unique_ptr<SpeedEstimates> estimates_from(const PolicyArguments& arguments) {
  if (arguments.profiles == nullptr) return std::make_unique<LinearEstimates>();
  return std::make_unique<PolluxEstimates>(arguments.profiles, arguments.devices_per_node);
}

constexpr PolicyRow kRows[] = {
    {"fifo",
     "whole gangs in queue order; stops at the first that does not fit",
     {},
     [](const ParameterValues&, const PolicyArguments&) -> Made { return made<Fifo>(); }},
    {"easy",
     "fifo with EASY backfilling by stated estimates",
     kEasyParameters,
     [](const ParameterValues& values, const PolicyArguments&) -> Made {
       return made<Easy>(
           Easy::Options{values.integer("backfill_depth"), values.flag("reserve_nodes")});
     }},
    {"srtf",
     "shortest remaining time first, preemptive",
     {},
     [](const ParameterValues&, const PolicyArguments&) -> Made { return made<Srtf>(); }},
    {"las",
     "least attained service first, preemptive once a quantum",
     kLasParameters,
     [](const ParameterValues& values, const PolicyArguments&) -> Made {
       return made<Las>(Las::Options{values.duration("quantum")});
     }},
    {"fit",
     "elastic jobs share what is free, by measured gain",
     kFitParameters,
     [](const ParameterValues& values, const PolicyArguments&) -> Made {
       return made<Fit>(Fit::Options{values.duration("period"), values.number("gain_min")});
     }},
    {"tiresias",
     "two queues by attained service, each in order of arrival",
     kTiresiasParameters,
     [](const ParameterValues& values, const PolicyArguments&) -> Made {
       return made<Tiresias>(
           TiresiasParameters{values.integer("threshold"), values.duration("period")});
     }},
    {"optimus",
     "one more replica to the job that gains most time by it",
     kOptimusParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return made<Optimus>(OptimusParameters{values.duration("period")},
                            estimates_from(arguments));
     }},
    {"pollux",
     "sizes and places elastic jobs for the greatest mean goodput, by genetic search",
     kPolluxParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return made<Pollux>(pollux_parameters(values), arguments.seed);
     }},
};

}  // namespace

std::span<const PolicyRow> rows() { return kRows; }

bool is_available(const PolicyRow& row) { return !row.needs_solver || solver::is_available(); }

const PolicyRow* find_row(std::string_view name) {
  for (const PolicyRow& row : kRows)
    if (row.name == name) return &row;
  return nullptr;
}

Made make_policy(std::string_view name, const PolicyArguments& arguments) {
  const PolicyRow* row = find_row(name);
  if (row == nullptr) {
    std::string known;
    for (const PolicyRow& r : kRows) known += (known.empty() ? "" : ", ") + std::string(r.name);
    return Error{ErrorCode::NotFound,
                 {},
                 0,
                 "policy",
                 "is \"" + std::string(name) + "\", one of " + known + " is needed; choose one"};
  }
  if (!is_available(*row))
    return Error{ErrorCode::Unavailable,
                 {},
                 0,
                 "policy",
                 "is \"" + std::string(name) +
                     "\", which needs a solver of linear programs, and this program was built "
                     "without one; install coinor-libcbc-dev and build again, or choose another "
                     "policy"};
  Result<ParameterValues> values = read_parameters(*row, arguments.parameters);
  if (!values) return values.errors();
  return row->make(*values, arguments);
}

}  // namespace orrery::policies
