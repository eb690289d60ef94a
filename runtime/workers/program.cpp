#include "runtime/workers/program.hpp"

#include <algorithm>
#include <iostream>
#include <limits>

#include "core/base/json_text.hpp"
#include "runtime/workers/measuring.hpp"
#include "runtime/workers/ring_collective.hpp"

namespace orrery::worker {
namespace {

// How long the last profiling may take to reach the agent.
constexpr Milliseconds kFarewell{500};

/// Tells all that is wrong. What is not there is no fault of the input.
int refuse(std::string_view program, const Errors& errors) {
  bool missing = true;
  for (const Error& error : errors) {
    std::cerr << program << ": " << error.text() << "\n";
    missing = missing && error.code == ErrorCode::Unavailable;
  }
  return missing ? kExitFailed : kExitBadInput;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string report_json(const Program& program,
                        const TrainingReport& report,
                        const TrainingParts& parts) {
  JsonText json(JsonText::Layout::Indented);
  const double multiply_s = median(report.multiply_times_s);
  const double size = parts.compute.size();
  json.begin_object().field("program", program.name).field("compute", parts.compute.name());
  json.field("backend", parts.collective.name()).field("size", parts.compute.size());
  json.field("exit_code", report.exit_code).field("reason", report.reason);
  json.field("steps_done", report.steps_done).field("steps_resumed", report.steps_resumed);
  json.field("generation", report.generation).field("world_size", report.world_size);
  json.field("builds", report.builds).field("steps_timed", report.step_times_s.size());
  json.field("step_p50_s", median(report.step_times_s)).field("multiply_p50_s", multiply_s);
  json.field("gflops_p50", 2 * size * size * size / multiply_s / 1e9);
  json.field("shared_mean", report.shared.mean).field("shared_low", report.shared.low);
  json.field("shared_high", report.shared.high).end_object();
  return json.take();
}

void put_times(JsonText& json, std::string_view key, const std::vector<double>& times) {
  json.key(key).begin_array();
  for (const double time : times) json.value(time);
  json.end_array();
}

std::string measurement_json(const Program& program,
                             const Place& place,
                             const Measurement& measured,
                             const TrainingParts& parts) {
  JsonText json;
  const double size = parts.compute.size();
  json.begin_object().field("program", program.name).field("device", parts.compute.name());
  json.field("backend", parts.collective.name()).field("world_size", place.world_size);
  json.field("size", parts.compute.size()).field("build_s", measured.build_s);
  json.field("gflops_p50", 2 * size * size * size / median(measured.multiply_s) / 1e9);
  put_times(json, "multiply_s", measured.multiply_s);
  json.key("all_reduce").begin_array();
  for (const MeasuredSum& sum : measured.sums) {
    json.begin_object().field("bytes", sum.bytes);
    put_times(json, "times_s", sum.times_s);
    json.end_object();
  }
  json.end_array().field("checkpoint_bytes", measured.checkpoint_bytes);
  put_times(json, "checkpoint_write_s", measured.checkpoint_write_s);
  put_times(json, "checkpoint_read_s", measured.checkpoint_read_s);
  json.end_object();
  return json.take();
}

/// In place of training. Rank 0 tells what was measured.
int take_measure(const Program& program,
                 const Options& options,
                 const Place& place,
                 const TrainingParts& parts) {
  Measurement measured;
  std::string reason;
  const int code = measure(options, place, parts, measured, reason);
  if (parts.agent != nullptr) parts.agent->flush(kFarewell);
  if (code != kExitDone)
    std::cerr << program.name << ": " << reason << std::endl;
  else if (place.rank == 0)
    std::cout << measurement_json(program, place, measured, parts) << std::endl;
  return code;
}

int work(const Program& program, const Options& options, const Start& start) {
  std::ostream& log = options.json ? std::cerr : std::cout;
  Drain drain;
  Result<std::unique_ptr<Compute>> compute = program.make_compute(options, start);
  if (!compute) return refuse(program.name, compute.errors());
  Result<std::unique_ptr<Collective>> made =
      make_collective(program.backends, options, **compute, log);
  if (!made) return refuse(program.name, made.errors());
  Collective& collective = **made;
  std::unique_ptr<AgentLink> agent;
  if (!start.socket.empty())
    agent = std::make_unique<AgentLink>(
        start.socket, start.worker, start.token, [&collective](const MembershipSaid& said) {
          collective.cancel_before(said.generation);
        });
  const TrainingParts parts{**compute, collective, agent.get(), drain, program.resolve, log};
  if (options.measure > 0) return take_measure(program, options, start.place, parts);
  const TrainingReport report = train(options, start.place, parts);
  if (agent) agent->flush(kFarewell);
  if (report.exit_code == kExitFailed || report.exit_code == kExitBadInput)
    std::cerr << program.name << ": " << report.reason << std::endl;
  if (options.json) std::cout << report_json(program, report, parts) << std::endl;
  return report.exit_code;
}

}  // namespace

Result<std::unique_ptr<Collective>> make_collective(const std::vector<Backend>& backends,
                                                    const Options& options,
                                                    Compute& compute,
                                                    std::ostream& log) {
  for (const Backend& backend : backends) {
    if (options.backend != "auto" && options.backend != backend.name) continue;
    Result<std::unique_ptr<Collective>> made = backend.make(options, compute);
    if (made || options.backend != "auto") return made;
    log << backend.name << " is left out: " << made.errors().front().text() << std::endl;
  }
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               "--backend",
               options.backend + " is not in this build; --help lists those that are"};
}

int run_program(const Program& program, std::span<const char* const> arguments) {
  const Result<Options> options = options_of(arguments);
  if (!options) return refuse(program.name, options.errors());
  if (options->help) {
    std::string names;
    for (const Backend& backend : program.backends)
      names.append(names.empty() ? "" : ", ").append(backend.name);
    std::cout << help_text(program.name, names);
    return kExitDone;
  }
  const Result<Start> start = start_of(process_environment);
  if (!start) return refuse(program.name, start.errors());
  return work(program, *options, *start);
}

Result<std::string> resolve_numeric(const std::string& host) {
  if (host == "localhost") return std::string("127.0.0.1");
  if (endpoint_of(Endpoint{host, 1}.text())) return host;
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               "MASTER_ADDR",
               "\"" + host.substr(0, 100) +
                   "\" is no numeric address, and this static build asks no name service; give "
                   "rank 0's address, or use orrery-worker"};
}

Backend ring_backend() {
  return {"ring", [](const Options& options, Compute&) -> Result<std::unique_ptr<Collective>> {
            return std::unique_ptr<Collective>(std::make_unique<RingCollective>(options.times));
          }};
}

}  // namespace orrery::worker
