// From a command line to runs of a scenario, each in a process of its own, and their answers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/reports/comparison_data.hpp"
#include "sim/reports/report_html.hpp"
#include "sim/results/summary.hpp"
#include "sim/run/workload.hpp"
#include "tools/console/arguments.hpp"
#include "tools/orrery/child_pool.hpp"

namespace orrery::cli {

/// A scenario with everything that its files hold: read once, run as often as wanted.
struct LoadedScenario {
  scenarios::Scenario scenario;
  sim::LoadedWorkload workload;
};

/// The overrides that --set, --world and --fidelity ask for, in that order.
Result<std::vector<scenarios::Override>> overrides_of(const Arguments& arguments);

/// Under which policy a scenario is to run.
enum class RunsUnder : std::uint8_t {
  Own,      ///< Its own.
  Another,  ///< One that the caller chooses; its own may be one that nobody has.
};

/// Reads a scenario and its workload. Errors, all of them: anything wrong in either, a policy of
/// its own or a parameter that does not exist, a world or level that this program does not have.
Result<LoadedScenario> open_scenario(const std::string& path,
                                     const std::vector<scenarios::Override>& overrides,
                                     RunsUnder policy = RunsUnder::Own);

/// The scenario that does nothing but run the workload of Batsim at `path`, as text. Nothing where
/// the file is something else.
std::optional<std::string> scenario_around(const std::string& path);

/// The same as open_scenario for a text; `file` names it in messages.
Result<LoadedScenario> open_scenario_text(const std::string& text,
                                          const std::string& file,
                                          const std::vector<scenarios::Override>& overrides,
                                          RunsUnder policy = RunsUnder::Own);

/// All of them, in order.
void append(Errors& errors, const Errors& more);

/// Makes `name` the scenario's policy. The file's parameters stay only where it names the same
/// policy; those of the command line do. Errors: no such policy; `option` names the place.
Status choose_policy(scenarios::Scenario& scenario,
                     const std::string& name,
                     const std::string& option);

/// The scenario under each of the policies. Of several, those have a parameter of the command line
/// that take it; where none does, all have it and refuse it. Errors: no such policy.
Result<std::vector<scenarios::Scenario>> choose_policies(const scenarios::Scenario& scenario,
                                                         const std::vector<std::string>& names,
                                                         const std::string& option);

/// What is wrong with a choice: no such policy, a parameter that it does not have, a value out of
/// range; with their place.
Errors errors_of(const scenarios::PolicyChoice& choice);

/// A fresh policy as the scenario wants it, which may consult `models`. Errors: errors_of() its
/// choice.
Result<std::unique_ptr<Policy>> fresh_policy(const scenarios::Scenario& scenario,
                                             const JobModels& models);

/// What one run shall leave behind: the files that the scenario's `outputs.formats` name.
struct RunOutputs {
  std::filesystem::path folder;   ///< Empty: nothing.
  std::filesystem::path journal;  ///< A file that is not there yet; empty: none is kept.
  std::filesystem::path kept;     ///< World cluster: folder for journal and logs; empty: they go.
  bool same_decisions = false;    ///< What world model decides otherwise is an unmet expectation;
                                  ///< always so in world cluster.
};

/// Where results go: --out, else the scenario's `outputs.dir`, relative to its own folder. Nothing
/// where neither is given.
std::optional<std::string> output_path(const Arguments& arguments,
                                       const scenarios::Scenario& scenario);

/// The files that a run of the scenario reads and its user wrote.
std::vector<std::string> files_read(const scenarios::Scenario& scenario);

/// What a run answers.
struct RunAnswer {
  sim::Summary summary;
  std::vector<std::string> warnings;      ///< What could not be modelled as asked.
  std::vector<std::string> tries_before;  ///< World cluster: what was found at higher time scales.
  Errors errors;                          ///< Not empty: there is no summary.
  sim::SortedSample completion;           ///< With a folder only: for the page of a comparison,
  sim::SortedSample waiting;              ///< as many points as it draws.
  sim::SortedSample slowdown;
  sim::SampledJobs jobs;
  bool failed_as_wanted = false;  ///< The scenario must fail, and an expectation is unmet.
};

/// Runs one scenario as the body of a task; the answer is sent through `report`.
ExitCode run_one(const scenarios::Scenario& scenario,
                 const sim::LoadedWorkload& workload,
                 const RunOutputs& outputs,
                 ChildReport& report);

/// Sends an answer through `report`.
void send_answer(const RunAnswer& answer, ChildReport& report);

/// The answer in what a task sent; an error where the process ended without one.
RunAnswer answer_of(const TaskEnd& end);

/// How many jobs a run will submit, as far as that is known before; 0: not known.
std::uint64_t jobs_expected(const scenarios::Scenario& scenario,
                            const sim::LoadedWorkload& workload);

/// What a user must know of the page that the scenario's outputs ask for: one line for people where
/// this program has none, else empty.
std::string remark_on_page(const scenarios::Scenario& scenario);

/// Writes each warning and unmet expectation of a run as one line for people. `run` is put before
/// what is unmet, empty where there is one run only.
std::string remarks_of(const RunAnswer& answer, const std::string& run);

}  // namespace orrery::cli
