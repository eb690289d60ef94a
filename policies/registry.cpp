#include "policies/registry.hpp"

#include <algorithm>
#include <utility>

#include "core/queues/queue_text.hpp"
#include "policies/easy.hpp"
#include "policies/elasticflow.hpp"
#include "policies/fifo.hpp"
#include "policies/fit.hpp"
#include "policies/gavel_making.hpp"
#include "policies/las.hpp"
#include "policies/optimus.hpp"
#include "policies/orrery_making.hpp"
#include "policies/parameters.hpp"
#include "policies/pollux.hpp"
#include "policies/pollux_making.hpp"
#include "policies/queues/queued.hpp"
#include "policies/shockwave.hpp"
#include "policies/sia.hpp"
#include "policies/sjf.hpp"
#include "policies/solver/program.hpp"
#include "policies/srsf.hpp"
#include "policies/srtf.hpp"
#include "policies/tiresias.hpp"
#include "policies/twin/twin_making.hpp"

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
     ParameterType::List,
     "device-seconds",
     "57600",
     "1",
     "",
     "service that moves a job to the next queue, rising; one makes two queues"},
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
    {"promote_after",
     ParameterType::Number,
     "times as long as it ran",
     "0",
     "0",
     "",
     "how long a job must wait to go back to the first queue; 0: it never does"},
    {"services",
     ParameterType::List,
     "device-seconds",
     "",
     "1",
     "",
     "what jobs are known to take in all: queues are ordered by the Gittins index; empty: by "
     "entry"},
    {"service_step",
     ParameterType::Integer,
     "device-seconds",
     "0",
     "0",
     "",
     "fixed step of the index, as in the published simulator; 0: the best of all"},
};

constexpr ParameterRow kOptimusParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
};

constexpr ParameterRow kShockwaveParameters[] = {
    {"round",
     ParameterType::Duration,
     "",
     "120s",
     "1s",
     "",
     "length of a round, in which nothing changes"},
    kChooseAhead,
    {"window", ParameterType::Integer, "rounds", "20", "1", "200", "rounds that are planned ahead"},
    {"resolve",
     ParameterType::Integer,
     "rounds",
     "8",
     "1",
     "",
     "how often the plan is made anew at the least"},
    {"makespan_weight",
     ParameterType::Number,
     "per second",
     "0.001",
     "0",
     "1e6",
     "what the longest predicted rest counts against the jobs' progress"},
    {"rho_max",
     ParameterType::Number,
     "",
     "1",
     "0.01",
     "1000",
     "how much later than with its fair share a job may end"},
    {"weight_power",
     ParameterType::Number,
     "",
     "12",
     "0",
     "100",
     "how steeply jobs weigh more the later they are, where not all can be in time"},
    {"depth",
     ParameterType::Integer,
     "jobs",
     "400",
     "1",
     "",
     "jobs that are planned together, the most late first"},
    {"nodes_most",
     ParameterType::Integer,
     "nodes",
     "20000",
     "0",
     "100000",
     "nodes of branch and bound in one schedule"},
};

constexpr ParameterRow kSiaParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
    {"restart_delay",
     ParameterType::Duration,
     "",
     "30s",
     "0s",
     "",
     "what a change of its allocation costs a job"},
    {"power",
     ParameterType::Number,
     "",
     "-0.5",
     "-10",
     "10",
     "of scaled goodputs: below 0 it evens them out; not 0"},
    {"unallocated",
     ParameterType::Number,
     "",
     "1.1",
     "-1000",
     "1000",
     "what a job without devices counts; below 0 where power is above"},
    {"devices_most",
     ParameterType::Integer,
     "devices",
     "64",
     "1",
     "",
     "most devices of an elastic job beyond its minimum"},
    {"nodes_most",
     ParameterType::Integer,
     "nodes",
     "50",
     "0",
     "100000",
     "nodes of branch and bound in one program"},
    {"tune_batch",
     ParameterType::Flag,
     "",
     "false",
     "",
     "",
     "goodputs are those of the best batch, by a model fitted to reports; jobs choose theirs"},
};

std::unique_ptr<GoodputEstimates> goodput_from(const PolicyArguments& arguments) {
  if (arguments.models.device_profiles != nullptr)
    return std::make_unique<DeviceGoodput>(arguments.models.device_profiles);
  if (arguments.models.profiles == nullptr) return std::make_unique<NoEstimates>();
  return std::make_unique<ProfileGoodput>(arguments.models.profiles, arguments.devices_per_node);
}

Made make_shockwave(const ParameterValues& values, const PolicyArguments& arguments) {
  ShockwaveParameters parameters;
  parameters.round = values.duration("round");
  const Result<Duration> ahead = choose_ahead_of(values);
  if (!ahead) return ahead.errors();
  parameters.choose_ahead = ahead.value();
  parameters.resolve_rounds = static_cast<int>(values.integer("resolve"));
  parameters.depth = static_cast<int>(values.integer("depth"));
  parameters.window.rounds = static_cast<int>(values.integer("window"));
  parameters.window.makespan_weight = values.number("makespan_weight");
  parameters.window.rho_max = values.number("rho_max");
  parameters.window.weight_power = values.number("weight_power");
  parameters.window.steps = values.integer("nodes_most");
  return made<Shockwave>(parameters, arguments.models.epochs);
}

Made make_orrery(const ParameterValues& values, const PolicyArguments& arguments) {
  std::unique_ptr<GoodputEstimates> estimates = std::make_unique<NoEstimates>();
  if (values.flag("profiles") && arguments.models.device_profiles != nullptr)
    estimates = std::make_unique<DeviceGoodput>(arguments.models.device_profiles,
                                                DeviceGoodput::TunedJobs::SmallestBatch);
  return made<OrreryPolicy>(
      orrery_parameters(values), std::move(estimates), arguments.models.profiles);
}

Made make_sia(const ParameterValues& values, const PolicyArguments& arguments) {
  SiaParameters parameters;
  parameters.period = values.duration("period");
  parameters.restart_delay = values.duration("restart_delay");
  parameters.devices_most = static_cast<std::int32_t>(values.integer("devices_most"));
  parameters.tune_batch = values.flag("tune_batch");
  parameters.program.power = values.number("power");
  parameters.program.unallocated = values.number("unallocated");
  parameters.program.limits.nodes = static_cast<std::int32_t>(values.integer("nodes_most"));
  if (parameters.program.power == 0)
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "policy.power",
                 "is 0, another number is needed; choose for example -0.5"};
  return made<Sia>(parameters, goodput_from(arguments));
}

constexpr ParameterRow kElasticFlowParameters[] = {
    {"period", ParameterType::Duration, "", "60s", "1s", "", "time between two cycles"},
    {"overhead",
     ParameterType::Flag,
     "",
     "true",
     "",
     "",
     "plans leave time for what starts were measured to cost"},
    {"deadline_factor",
     ParameterType::List,
     "stated run times",
     "",
     "0",
     "",
     "deadline of jobs without the label deadline: one number, or least and most; empty: none"},
};

/// The list as whole numbers, which must rise; empty where they do not.
std::vector<std::int64_t> rising(const std::vector<double>& list) {
  std::vector<std::int64_t> whole;
  for (const double each : list) {
    const auto number = static_cast<std::int64_t>(each);
    if (each > 9e15 || (!whole.empty() && number <= whole.back())) return {};
    whole.push_back(number);
  }
  return whole;
}

Made made_tiresias(const ParameterValues& values) {
  TiresiasParameters parameters;
  parameters.thresholds_device_s = rising(values.list("threshold"));
  if (parameters.thresholds_device_s.empty())
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "policy.threshold",
                 "does not rise, one or more numbers from small to large are needed; the default "
                 "is 57600"};
  parameters.period = values.duration("period");
  parameters.promote_after = values.number("promote_after");
  parameters.gittins =
      GittinsTable(values.list("services"), static_cast<double>(values.integer("service_step")));
  return made<Tiresias>(std::move(parameters));
}

std::unique_ptr<SpeedEstimates> estimates_from(const PolicyArguments& arguments) {
  if (arguments.models.profiles == nullptr) return std::make_unique<LinearEstimates>();
  return std::make_unique<PolluxEstimates>(arguments.models.profiles, arguments.devices_per_node);
}

Made made_elasticflow(const ParameterValues& values, const PolicyArguments& arguments) {
  const std::vector<double>& factors = values.list("deadline_factor");
  if (factors.size() > 2 || (factors.size() == 2 && factors[1] < factors[0]))
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "policy.deadline_factor",
                 "is " + std::to_string(factors.size()) +
                     " numbers, one, or the least and the most are needed; write for example "
                     "[0.5, 1.5]"};
  ElasticFlowParameters parameters;
  parameters.period = values.duration("period");
  parameters.overhead = values.flag("overhead");
  parameters.deadline_factors = factors;
  parameters.seed = arguments.seed;
  return made<ElasticFlow>(parameters, estimates_from(arguments));
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
     "queues by attained service, each in order of entry or by Gittins index",
     kTiresiasParameters,
     [](const ParameterValues& values, const PolicyArguments&) -> Made {
       return made_tiresias(values);
     }},
    {"optimus",
     "one more replica to the job that gains most time by it",
     kOptimusParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return made<Optimus>(OptimusParameters{values.duration("period")},
                            estimates_from(arguments));
     }},
    {"orrery",
     "sizes and kinds of devices by price, short jobs first; our own",
     kOrreryParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_orrery(values, arguments);
     }},
    {"pollux",
     "sizes and places elastic jobs for the greatest mean goodput, by genetic search",
     kPolluxParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return made<Pollux>(pollux_parameters(values), arguments.seed);
     }},
    {"shockwave",
     "rounds planned ahead, by progress and fair finish times, for jobs whose speed changes",
     kShockwaveParameters,
     make_shockwave},
    {"sia",
     "kinds of devices and sizes for all jobs together, by goodput",
     kSiaParameters,
     make_sia,
     true},
    {"srsf",
     "shortest remaining time times devices first, preemptive",
     {},
     [](const ParameterValues&, const PolicyArguments&) -> Made { return made<Srsf>(); }},
    {"sjf",
     "shortest stated run time first; what runs goes on",
     {},
     [](const ParameterValues&, const PolicyArguments&) -> Made { return made<Sjf>(); }},
    {"elasticflow",
     "jobs with deadlines get what they need for them, the rest makes others faster",
     kElasticFlowParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return made_elasticflow(values, arguments);
     }},
    {"gavel_fifo",
     "rounds of leases; in queue order each on the type of device on which it is fastest",
     kGavelFifoParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gavel_fifo/1", SharingRule::Fifo, values, arguments);
     }},
    {"gavel_las",
     "rounds of leases; every job gets the same part of what it would have of all devices",
     kGavelLasParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       const bool aware = values.flag("type_aware");
       return make_gavel("gavel_las/1",
                         aware ? SharingRule::MaxMin : SharingRule::MaxMinTypeBlind,
                         values,
                         arguments);
     },
     true},
    {"gavel_packing",
     "rounds of leases; as gavel_las, and two jobs may be put on the same devices",
     kGavelPackingParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gavel_packing/1", SharingRule::MaxMinPacked, values, arguments);
     },
     true},
    {"gavel_sum",
     "rounds of leases; the sum of all speeds is greatest",
     kGavelCentredParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gavel_sum/1", SharingRule::MaxSum, values, arguments);
     },
     true},
    {"gavel_makespan",
     "rounds of leases; the last job ends as early as possible",
     kGavelCentredParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gavel_makespan/1", SharingRule::Makespan, values, arguments);
     },
     true},
    {"gavel_isolated",
     "rounds of leases; every job gets its part of every type of device",
     kGavelParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gavel_isolated/1", SharingRule::Isolated, values, arguments);
     }},
    {"gandiva",
     "rounds of leases; where devices are short, jobs share them in pairs that are drawn",
     kGandivaParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("gandiva/1", SharingRule::Gandiva, values, arguments);
     }},
    {"allox",
     "rounds of leases; jobs are matched to devices, so that completion times are least",
     kAlloXParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("allox/1", SharingRule::AlloX, values, arguments);
     }},
    {"themis",
     "rounds of leases; the worst ratio of a job's finish time to that in its own part is least",
     kGavelCentredParameters,
     [](const ParameterValues& values, const PolicyArguments& arguments) -> Made {
       return make_gavel("themis/1", SharingRule::FinishTimeFair, values, arguments);
     },
     true},
    {"twin",
     "rehearses candidates on a model of the cluster and lets the best decide",
     kTwinParameters,
     make_twin,
     false,
     true},
};

}  // namespace

std::span<const PolicyRow> rows() { return kRows; }

bool is_available(const PolicyRow& row) { return !row.needs_solver || solver::is_available(); }

const PolicyRow* find_row(std::string_view name) {
  for (const PolicyRow& row : kRows)
    if (row.name == name) return &row;
  return nullptr;
}

std::string brief_value(const ParameterRow& parameter) {
  // A quantum is longer than a start and a checkpoint, or no job would ever get on.
  static constexpr std::pair<std::string_view, const char*> kBrief[]{{"period", "20s"},
                                                                     {"quantum", "150s"},
                                                                     {"round", "60s"},
                                                                     {"reset", "120s"},
                                                                     {"threshold", "600,3000"},
                                                                     {"promote_after", "1"},
                                                                     {"beside", "0.7"},
                                                                     {"events_max", "600"},
                                                                     {"deadline_factor", "0.5,4"}};
  for (const auto& [name, value] : kBrief)
    if (parameter.name == name) return value;
  // Any other time that storms would not live to see.
  const bool is_time = parameter.type == ParameterType::Duration;
  const char unit = parameter.initial.empty() ? 's' : parameter.initial.back();
  return is_time && (unit == 'n' || unit == 'h' || unit == 'd') ? "60s" : "";
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
  if (row->needs_rehearsal && arguments.rehearsal == nullptr)
    return Error{
        ErrorCode::Unavailable,
        {},
        0,
        "policy",
        "is \"" + std::string(name) +
            "\", which rehearses on a model of the cluster, and what runs policies here has "
            "none; choose another policy, or run it in orrery sim or in a controller"};
  std::map<std::string, std::string> own = arguments.parameters;
  const auto queues = own.extract(std::string(kQueuesParameter));
  Result<ParameterValues> values = read_parameters(*row, own);
  Errors errors = values ? Errors{} : values.errors();
  if (!queues.empty() && row->needs_rehearsal) {
    if (!errors.empty()) return errors;
    return row->make(*values, arguments);
  }
  if (queues.empty()) return errors.empty() ? row->make(*values, arguments) : Made(errors);
  Result<QueuesSpec> spec = parsed_queues(queues.mapped());
  if (!spec) errors.insert(errors.end(), spec.errors().begin(), spec.errors().end());
  if (!errors.empty()) return errors;
  Made first = row->make(*values, arguments);
  if (!first) return first.errors();
  return std::unique_ptr<Policy>(std::make_unique<Queued>(
      *std::move(spec), [&] { return row->make(*values, arguments).value(); }));
}

}  // namespace orrery::policies
