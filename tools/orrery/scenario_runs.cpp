#include "tools/orrery/scenario_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "core/base/amount_text.hpp"
#include "core/base/json_text.hpp"
#include "core/base/stream_text.hpp"
#include "core/queues/queue_text.hpp"
#include "core/record/codec.hpp"
#include "policies/registry.hpp"
#include "sim/expectations/expectations.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/run/run.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/cluster_parts.hpp"
#include "tools/orrery/run_files.hpp"
#include "tools/orrery/run_listeners.hpp"
#include "tools/orrery/simgrid_parts.hpp"
#include "tools/orrery/simulated_journal.hpp"

namespace orrery::cli {
namespace {

/// The text that an error of the registry stands beside in the user's files.
std::string place_of(const scenarios::PolicyChoice& choice, const std::string& subject) {
  for (const scenarios::Parameter& parameter : choice.parameters)
    if (subject == "policy." + parameter.key) return parameter.place;
  return choice.place;
}

bool is_of_command_line(const scenarios::Parameter& parameter) {
  return parameter.place.starts_with("--set ");
}

/// Whether there is such a policy and it has the parameter.
bool takes(const std::string& policy, const scenarios::Parameter& parameter) {
  const policies::PolicyRow* row = policies::find_row(policy);
  return parameter.key == kQueuesParameter ||
         (row != nullptr && std::any_of(row->parameters.begin(),
                                        row->parameters.end(),
                                        [&](const policies::ParameterRow& each) {
                                          return each.name == parameter.key;
                                        }));
}

int devices_per_node(const scenarios::Scenario& scenario) {
  int most = 1;
  for (const NodeGroup& group : scenario.groups) most = std::max(most, group.devices);
  return most;
}

void put_sample(const sim::SortedSample& sample, ByteWriter& bytes) {
  bytes.varint(sample.count);
  bytes.varint(sample.values_s.size());
  for (const double value : sample.values_s) bytes.f64(value);
}

sim::SortedSample read_sample(ByteReader& reader) {
  sim::SortedSample sample;
  sample.count = reader.varint();
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
    sample.values_s.push_back(reader.f64());
  return sample;
}

void put_jobs(const sim::SampledJobs& jobs, ByteWriter& bytes) {
  bytes.varint(jobs.total);
  bytes.varint(jobs.names.size());
  for (const std::string& name : jobs.names) bytes.string(name);
  bytes.f64s(jobs.jct_s);
}

sim::SampledJobs read_jobs_sample(ByteReader& reader) {
  sim::SampledJobs jobs;
  jobs.total = reader.varint();
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
    jobs.names.emplace_back(reader.string());
  for (std::size_t left = jobs.names.size(); left > 0 && reader.ok(); --left)
    jobs.jct_s.push_back(reader.f64());
  return jobs;
}

/// Writes an answer as bytes: the summary, its measured part, warnings, samples and errors.
std::string encoded(const RunAnswer& answer) {
  ByteWriter bytes;
  Encoder out(bytes);
  out.put(answer.summary);
  out.put(answer.summary.measured);
  out.put(answer.warnings);
  out.put(answer.tries_before);
  put_sample(answer.completion, bytes);
  put_sample(answer.waiting, bytes);
  put_sample(answer.slowdown, bytes);
  put_jobs(answer.jobs, bytes);
  bytes.u8(answer.failed_as_wanted ? 1 : 0);
  bytes.varint(answer.errors.size());
  for (const Error& error : answer.errors) {
    bytes.u8(static_cast<std::uint8_t>(error.code));
    bytes.string(error.file);
    bytes.signed_varint(error.line);
    bytes.string(error.subject);
    bytes.string(error.message);
  }
  return std::string(bytes.text());
}

std::optional<RunAnswer> decoded(std::string_view bytes) {
  ByteReader reader(bytes);
  Decoder in(reader);
  RunAnswer answer;
  in.get(answer.summary);
  in.get(answer.summary.measured);
  in.get(answer.warnings);
  in.get(answer.tries_before);
  answer.completion = read_sample(reader);
  answer.waiting = read_sample(reader);
  answer.slowdown = read_sample(reader);
  answer.jobs = read_jobs_sample(reader);
  answer.failed_as_wanted = reader.u8() != 0;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    Error error;
    error.code = static_cast<ErrorCode>(reader.u8());
    error.file = reader.string();
    error.line = static_cast<int>(reader.signed_varint());
    error.subject = reader.string();
    error.message = reader.string();
    answer.errors.push_back(std::move(error));
  }
  if (!in.ok() || !reader.finished()) return std::nullopt;
  return answer;
}

/// "1 job is unfinished", "2 jobs are unfinished".
std::string unfinished(std::uint64_t jobs) {
  return counted(static_cast<std::int64_t>(jobs), "job") + (jobs == 1 ? " is" : " are") +
         " unfinished";
}

/// Says in words which jobs are left because they can never fit, and which though nothing will
/// happen any more. True where some of the latter could run, and no expectation says that it is
/// well so.
bool describe_leftovers(const scenarios::Scenario& scenario,
                        const sim::RunReport& ran,
                        const StuckListener& stuck,
                        std::vector<std::string>& warnings) {
  if (ran.summary.jobs_unfinished == 0) return false;
  std::uint64_t infeasible = 0;
  std::uint64_t running = 0;
  for (const sim::JobOutcome& job : ran.metrics->jobs().rows()) {
    if (!job.exists() || job.is_over()) continue;
    if (job.reason == Reason::Infeasible) ++infeasible;
    if (job.phase == JobPhase::Running) ++running;
  }
  if (infeasible > 0) {
    warnings.push_back(unfinished(infeasible) + " because " + (infeasible == 1 ? "it" : "they") +
                       " can never fit on this cluster");
    warnings.insert(warnings.end(), stuck.lacks().begin(), stuck.lacks().end());
  }
  if (!scenario.until.is_never()) return false;  // More would have happened.
  const std::uint64_t waiting = ran.summary.jobs_unfinished - infeasible - running;
  if (running > 0)
    warnings.push_back(unfinished(running) + " though " + (running == 1 ? "it runs" : "they run") +
                       ": nothing that is said of " + (running == 1 ? "it" : "them") +
                       " ends within the time that there is, so that nothing will happen any "
                       "more: no progress");
  if (waiting > 0)
    warnings.push_back(unfinished(waiting) + " though " + (waiting == 1 ? "it" : "they") +
                       " could fit, and nothing will happen any more: no progress; look for a "
                       "quota, a limit of a queue, or a policy that grants nothing");
  return waiting + running > 0 && scenario.expectations.empty();
}

/// In the world that the scenario names.
Result<sim::RunReport> run_in_world(const scenarios::Scenario& scenario,
                                    const sim::LoadedWorkload& workload,
                                    Policy& policy,
                                    const sim::RunOptions& options,
                                    const RunOutputs& outputs) {
  if (scenario.world == scenarios::World::Model)
    return sim::run_model(scenario, workload, policy, options);
  if (scenario.world == scenarios::World::Sim) {
    const auto parts = simgrid_parts(scenario);
    if (!parts) return parts.errors();
    sim::RunOptions with_parts = options;
    with_parts.fabric = parts->fabric();
    with_parts.transport = parts->transport();
    return sim::run_model(scenario, workload, policy, with_parts);
  }
  return run_in_world_cluster(scenario, workload, policy, options, outputs.kept.string());
}

/// How often a run in real time that found something is repeated with more time.
constexpr int kAgainMax = 2;

/// What world model decides otherwise than `decided`, a decision log of another world, a sentence
/// for each job.
std::vector<std::string> otherwise_than_model(scenarios::Scenario scenario,
                                              const sim::LoadedWorkload& workload,
                                              const std::string& decided) {
  const std::string world(orrery::to_string(scenario.world));
  scenario.world = scenarios::World::Model;
  scenario.fidelity = scenarios::Fidelity::L0;
  const auto policy = fresh_policy(scenario, workload.models());
  if (!policy) return {policy.errors().front().text()};
  DecisionListener in_model;
  sim::RunOptions options;
  options.listeners = {&in_model};
  options.fresh_policy = [&] {
    auto fresh = fresh_policy(scenario, workload.models());
    return fresh ? std::move(*fresh) : nullptr;
  };
  const auto ran = sim::run_model(scenario, workload, **policy, options);
  if (!ran) return {ran.errors().front().text()};
  const auto quoted = [](const std::string& line) {
    return line.empty() ? std::string("nothing more") : "'" + line + "'";
  };
  std::vector<std::string> out;
  for (const sim::DecisionDifference& difference :
       sim::decision_differences(decided, in_model.text()))
    out.push_back(scenario.file + ": job " + difference.job + ": world " + world + " decided " +
                  quoted(difference.found) + ", world model " + quoted(difference.expected) +
                  (difference.after.empty() ? "" : ", after '" + difference.after + "'"));
  return out;
}

/// Runs, and fills the answer. Returns how the run ended.
ExitCode run_and_fill(const scenarios::Scenario& as_written,
                      const sim::LoadedWorkload& workload,
                      const RunOutputs& outputs,
                      ChildReport& report,
                      RunAnswer& answer,
                      bool& maybe_too_slow) {
  const bool in_cluster = as_written.world == scenarios::World::Cluster;
  const scenarios::Scenario scenario = in_cluster ? in_real_time(as_written) : as_written;
  auto policy = fresh_policy(scenario, workload.models());
  if (!policy) {
    answer.errors = policy.errors();
    return ExitCode::BadInput;
  }
  sim::RunOptions options;
  options.fresh_policy = [&] {
    auto fresh = fresh_policy(scenario, workload.models());
    return fresh ? std::move(*fresh) : nullptr;  // Never: it could be made just now.
  };
  std::unique_ptr<SimulatedJournal> journal;
  if (!outputs.journal.empty()) {
    auto created = SimulatedJournal::create(outputs.journal.string());
    if (!created) {
      answer.errors = created.errors();
      return ExitCode::BadInput;
    }
    journal = std::move(*created);
    options.store = journal.get();
  }
  JudgeListener judge(scenario);
  const std::uint64_t jobs = jobs_expected(scenario, workload);
  ProgressListener progress(report,
                            jobs,
                            in_cluster ? begin_in_real_time() : Instant::zero(),
                            in_cluster ? as_written.time_scale : 1.0);
  StuckListener stuck(jobs);
  RunFiles kept(
      scenario,
      outputs.folder,
      workload.adds_faults(scenario) ? workload.with_failures(scenario).faults : scenario.faults);
  options.listeners = {&progress, &stuck};
  if (!scenario.expectations.empty()) options.listeners.push_back(&judge);
  DecisionListener decisions;
  const bool compares = in_cluster || outputs.same_decisions;
  if (compares) options.listeners.push_back(&decisions);
  kept.listen(options.listeners);

  auto ran = run_in_world(scenario, workload, **policy, options, outputs);
  if (!ran) {
    answer.errors = ran.errors();
    return ExitCode::BadInput;
  }
  ran->summary.unmet = judge.unmet();
  if (compares)
    for (std::string& sentence : otherwise_than_model(as_written, workload, decisions.text()))
      ran->summary.unmet.push_back(std::move(sentence));
  maybe_too_slow = in_cluster && !ran->summary.unmet.empty();
  if (scenario.must_fail && ran->summary.unmet.empty())
    ran->summary.unmet.push_back(scenario.file +
                                 ": run: every expectation was met, expected one that is not");
  else if (scenario.must_fail)
    answer.failed_as_wanted = true;
  answer.summary = ran->summary;
  answer.warnings = ran->warnings;
  if (ran->end == RunEnd::NoProgress)
    answer.warnings.emplace_back("the run went on for ever at one instant: no progress");
  const bool left_waiting = describe_leftovers(scenario, *ran, stuck, answer.warnings);
  Status written = kept.finish(*ran, answer.warnings);
  if (!outputs.folder.empty()) {
    const std::size_t points = sim::PageLimits{}.sample_max;
    answer.completion = sim::completion_times(ran->metrics->jobs(), points);
    answer.waiting = sim::waiting_times(ran->metrics->jobs(), points);
    answer.slowdown = sim::slowdowns(
        sim::job_ratios(ran->metrics->jobs(), ran->metrics->away(), 0, ran->ended_at), points);
    answer.jobs = sim::sampled_jobs(ran->metrics->jobs(), points);
  }
  if (written && journal) written = journal->close();
  if (!written) {
    answer.errors = written.errors();
    return ExitCode::BadInput;
  }
  if (ran->end == RunEnd::NoProgress || left_waiting) return ExitCode::NoProgress;
  return ran->summary.unmet.empty() || answer.failed_as_wanted ? ExitCode::Met : ExitCode::Unmet;
}

}  // namespace

Result<std::vector<scenarios::Override>> overrides_of(const Arguments& arguments) {
  std::vector<scenarios::Override> overrides;
  Errors errors;
  for (const std::string& text : arguments.values("--set")) {
    auto parsed = scenarios::parse_override(text);
    if (parsed) {
      overrides.push_back(std::move(*parsed));
    } else {
      append(errors, parsed.errors());
    }
  }
  if (const auto world = arguments.value("--world")) overrides.push_back({"world", *world});
  if (const auto level = arguments.value("--fidelity")) overrides.push_back({"fidelity", *level});
  if (!errors.empty()) return errors;
  return overrides;
}

std::optional<std::string> scenario_around(const std::string& path) {
  if (!path.ends_with(".json")) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  const std::string text = rest_of(in).value_or("");
  if (text.find("\"nb_res\"") == text.npos || text.find("\"profiles\"") == text.npos)
    return std::nullopt;
  JsonText json;
  json.begin_object().key("workload").begin_object().key("batsim").begin_object();
  json.field("file", std::filesystem::path(path).filename().string());
  json.end_object().end_object().end_object();
  return json.take();
}

namespace {

/// A scenario with its workload. `unfit`: what is wrong with its policy.
Result<LoadedScenario> loaded(Result<scenarios::Scenario> scenario, Errors unfit) {
  Errors errors;
  if (!scenario) {
    errors = scenario.errors();
    append(errors, unfit);
    return errors;
  }
  auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) append(errors, workload.errors());
  if (workload && scenario->world == scenarios::World::Cluster)
    append(errors, unfit_for_world_cluster(*scenario, *workload));
  append(errors, unfit);
  if (!errors.empty()) return errors;
  workload->complete(*scenario);
  return LoadedScenario{std::move(*scenario), std::move(*workload)};
}

}  // namespace

Result<LoadedScenario> open_scenario(const std::string& path,
                                     const std::vector<scenarios::Override>& overrides,
                                     RunsUnder policy) {
  const std::optional<std::string> around = scenario_around(path);
  scenarios::PolicyChoice own;
  auto scenario = around ? scenarios::parse_scenario(*around, path, overrides, &own)
                         : scenarios::load_scenario(path, overrides, &own);
  return loaded(std::move(scenario), policy == RunsUnder::Own ? errors_of(own) : Errors{});
}

Result<LoadedScenario> open_scenario_text(const std::string& text,
                                          const std::string& file,
                                          const std::vector<scenarios::Override>& overrides,
                                          RunsUnder policy) {
  scenarios::PolicyChoice own;
  auto scenario = scenarios::load_scenario_text(text, file, overrides, &own);
  return loaded(std::move(scenario), policy == RunsUnder::Own ? errors_of(own) : Errors{});
}

Status choose_policy(scenarios::Scenario& scenario,
                     const std::string& name,
                     const std::string& option) {
  if (policies::find_row(name) == nullptr) {
    std::string known;
    std::vector<std::string_view> names;
    for (const policies::PolicyRow& row : policies::rows()) {
      names.push_back(row.name);
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    const auto near = nearest(name, names);
    return Error{
        .subject = option,
        .message = "no policy is named \"" + name + "\", needed one of " + known + "; " +
                   (near ? "did you mean " + std::string(*near) + "?" : "see orrery policies")};
  }
  if (scenario.policy.name == name) return Done{};
  // Queues stand in front of any policy, so they stay.
  scenarios::PolicyChoice choice{name, {}, option};
  for (const scenarios::Parameter& parameter : scenario.policy.parameters)
    if (parameter.key == kQueuesParameter || is_of_command_line(parameter))
      choice.parameters.push_back(parameter);
  scenario.policy = std::move(choice);
  return Done{};
}

Result<std::vector<scenarios::Scenario>> choose_policies(const scenarios::Scenario& scenario,
                                                         const std::vector<std::string>& names,
                                                         const std::string& option) {
  std::vector<scenarios::Scenario> out;
  Errors errors;
  for (const std::string& name : names) {
    scenarios::Scenario run = scenario;
    const Status chosen = choose_policy(run, name, option);
    if (!chosen) {
      append(errors, chosen.errors());
      continue;
    }
    std::erase_if(run.policy.parameters, [&](const scenarios::Parameter& parameter) {
      return is_of_command_line(parameter) && !takes(name, parameter) &&
             std::any_of(names.begin(), names.end(), [&](const std::string& other) {
               return takes(other, parameter);
             });
    });
    out.push_back(std::move(run));
  }
  if (!errors.empty()) return errors;
  return out;
}

void append(Errors& errors, const Errors& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

Errors errors_of(const scenarios::PolicyChoice& choice) {
  scenarios::Scenario any;
  any.policy = choice;
  const auto policy = fresh_policy(any, {});
  return policy ? Errors{} : policy.errors();
}

Result<std::unique_ptr<Policy>> fresh_policy(const scenarios::Scenario& scenario,
                                             const JobModels& models) {
  policies::PolicyArguments arguments;
  for (const scenarios::Parameter& parameter : scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.seed = scenario.seed;
  arguments.models = models;
  arguments.devices_per_node = devices_per_node(scenario);
  arguments.rehearsal = std::make_shared<sim::ForkedRehearsal>();
  auto policy = policies::make_policy(scenario.policy.name, arguments);
  if (policy) return policy;
  Errors errors = policy.errors();
  for (Error& error : errors)
    if (error.file.empty()) error.file = place_of(scenario.policy, error.subject);
  return errors;
}

std::vector<std::string> files_read(const scenarios::Scenario& scenario) {
  std::vector<std::string> out{scenario.file};
  std::visit(
      [&out](const auto& workload) {
        if constexpr (requires { workload.file; }) out.push_back(workload.file);
      },
      scenario.workload);
  return out;
}

std::optional<std::string> output_path(const Arguments& arguments,
                                       const scenarios::Scenario& scenario) {
  if (const auto path = arguments.value("--out")) return path;
  if (scenario.outputs.dir.empty()) return std::nullopt;
  const std::filesystem::path own = std::filesystem::path(scenario.file).parent_path();
  return (own / scenario.outputs.dir).string();
}

ExitCode run_one(const scenarios::Scenario& scenario,
                 const sim::LoadedWorkload& workload,
                 const RunOutputs& outputs,
                 ChildReport& report) {
  RunAnswer answer;
  bool maybe_too_slow = false;
  ExitCode code = run_and_fill(scenario, workload, outputs, report, answer, maybe_too_slow);
  // Time in world cluster is that of the machine: where other work holds it up, what was found may
  // be of the machine. What is wrong is found with more time as well.
  scenarios::Scenario slower = scenario;
  std::vector<std::string> before;
  for (int again = 1; maybe_too_slow && again <= kAgainMax; ++again) {
    before.push_back("at time_scale " + with_commas(slower.time_scale, 1) +
                     " it ran otherwise: " + answer.summary.unmet.front());
    slower.time_scale = std::max(1.0, slower.time_scale / 3);
    RunOutputs beside = outputs;
    if (!beside.kept.empty()) beside.kept += "-" + std::to_string(again + 1);
    answer = {};
    code = run_and_fill(slower, workload, beside, report, answer, maybe_too_slow);
  }
  answer.tries_before = std::move(before);
  send_answer(answer, report);
  return code;
}

void send_answer(const RunAnswer& answer, ChildReport& report) { report.result(encoded(answer)); }

RunAnswer answer_of(const TaskEnd& end) {
  if (auto answer = decoded(end.result)) return std::move(*answer);
  RunAnswer none;
  // The process has said itself what was wrong; the system speaks only where it could not.
  none.errors.push_back(
      {.subject = "a run", .message = end.note.empty() ? "ended without an answer" : end.note});
  return none;
}

std::uint64_t jobs_expected(const scenarios::Scenario& scenario,
                            const sim::LoadedWorkload& workload) {
  std::uint64_t jobs = scenario.jobs.size();
  if (const auto* made = std::get_if<scenarios::GeneratorWorkload>(&scenario.workload))
    return jobs + made->spec.jobs;
  jobs += workload.account().rows_read;
  for (const sim::ReasonCount& count : workload.account().dropped) jobs -= count.rows;
  return jobs;
}

std::string remark_on_page(const scenarios::Scenario& scenario) {
  const std::string absence = sim::report_page_absence();
  if (absence.empty() || !scenario.outputs.wants(scenarios::OutputFormat::Report)) return {};
  return "remark: " + absence + "\n";
}

std::string remarks_of(const RunAnswer& answer, const std::string& run) {
  std::string out;
  for (const std::string& warning : answer.warnings)
    out += "remark: " + answer.summary.policy + ": " + warning + "\n";
  const std::string before = run.empty() ? "" : run + ": ";
  for (const std::string& unmet : answer.summary.unmet) out += "unmet: " + before + unmet + "\n";
  return out;
}

}  // namespace orrery::cli
