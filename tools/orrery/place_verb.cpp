// place: resolves a placement document and shows which component would get which devices; starts
// nothing.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/workers/plan_environment.hpp"
#include "core/workers/worker_group.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/readers.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "tools/console/input_file.hpp"
#include "tools/documents/rlinf_documents.hpp"
#include "tools/orrery/place_environment.hpp"
#include "tools/orrery/place_json.hpp"
#include "tools/orrery/place_picture.hpp"
#include "tools/orrery/place_tables.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using scenarios::PlacementFinding;

scenarios::PlacementMode mode_of(const Arguments& arguments) {
  const auto mode = arguments.value("--mode");
  if (!mode) return scenarios::PlacementMode::AsWritten;
  return enum_from<scenarios::PlacementMode>(*mode).value();
}

/// What the command line says beside the document.
DocumentWords words_of(const Arguments& arguments) {
  const std::vector<std::string>& operands = arguments.operands();
  return {operands.front(),
          {operands.begin() + 1, operands.end()},
          arguments.values("--config-dir"),
          arguments.value("--nodes"),
          arguments.value("--program")};
}

/// Words of a file may hold anything; on a terminal that would be obeyed.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// `file:line:column: message`, in the order of the text.
std::string text_of(std::vector<PlacementFinding> findings,
                    const std::string& file,
                    const std::vector<std::string>& files,
                    const char* word = "") {
  std::stable_sort(
      findings.begin(), findings.end(), [](const PlacementFinding& a, const PlacementFinding& b) {
        return std::tie(a.in_yaml_text, a.file, a.at) < std::tie(b.in_yaml_text, b.file, b.at);
      });
  std::string text;
  for (const PlacementFinding& finding : findings) {
    text += finding.file > 0 && finding.file < files.size() ? files[finding.file] : file;
    text += finding.in_yaml_text ? ":yaml_text" : "";
    if (finding.at.line > 0) text += ":" + std::to_string(finding.at.line);
    if (finding.at.line > 0 && finding.at.column > 0)
      text += ":" + std::to_string(finding.at.column);
    text += ": " + std::string(word) + printable(finding.message) + "\n";
  }
  return text;
}

ExitCode refuse(const std::vector<PlacementFinding>& findings,
                const std::string& file,
                const std::vector<std::string>& files,
                bool as_json,
                Console& console) {
  if (as_json)
    console.out(placement_errors_json(findings, files));
  else
    console.err(text_of(findings, file, files));
  return ExitCode::BadInput;
}

ExitCode refuse(const Errors& errors, bool as_json, Console& console) {
  if (as_json)
    console.out(placement_errors_json(errors));
  else
    console.errors(errors);
  return ExitCode::BadInput;
}

/// The program that starts what is placed, and what it does not start.
std::string program_lines(const scenarios::PlacementDocument& document,
                          const std::vector<std::string>& not_started) {
  if (!document.program) return {};
  std::string text = "program: " + std::string(to_string(document.program->program)) + ", for " +
                     document.program->reason + "\n";
  for (const std::string& component : not_started)
    text += (&component == &not_started.front() ? "not started: " : ", ") + component;
  return text + (not_started.empty() ? "" : "\n");
}

std::string pages(const scenarios::PlacementDocument& document,
                  const scenarios::PlacementAnswer& answer,
                  const ConsoleTraits& traits) {
  const placement::Plan& plan = answer.plan;
  PictureStyle style{traits.colour, traits.out_is_terminal ? traits.columns : 100};
  style.take_turns = document.jobs.size() == 1;
  std::string text;
  if (!document.strategy && document.jobs.empty())
    text += "mode: " + std::string(to_string(plan.mode)) +
            (plan.isolate_accelerators ? "" : ", accelerators not isolated") + "\n" +
            program_lines(document, answer.not_started) + "\n";
  text += placement_tables(plan, document.inventory, traits.table_width()) + "\n" +
          placement_picture(plan, document.inventory, style);
  for (const std::string& remark : document.remarks) text += remark + "\n";
  return text;
}

/// The specification of a job that has virtual clusters; else null.
const JobSpec* spec_of(const scenarios::PlacementDocument& document,
                       const scenarios::PlacedJob& job) {
  if (document.scenario == nullptr) return nullptr;
  return &document.scenario->jobs.at(job.index).spec;
}

/// The layout of the worker group that the role is; nothing where it is on no virtual cluster.
std::optional<workers::WorkerGroupLayout> layout_of(const JobSpec& spec, const std::string& role) {
  for (const RoleSpec& one : spec.roles)
    for (const VirtualClusterSpec& cluster : spec.virtual_clusters) {
      if (one.name != role || one.workers.virtual_cluster != cluster.name) continue;
      auto layout = workers::lay_out(role, cluster, one.workers);
      if (layout) return std::move(layout).value();
    }
  return std::nullopt;
}

/// Brings roles into the order of the job, in which its ranks are given.
void sort_by_role(const JobSpec& spec, std::vector<placement::ComponentPlan>& components) {
  const auto place = [&](const placement::ComponentPlan& component) {
    return std::ranges::find(spec.roles, component.name, &RoleSpec::name) - spec.roles.begin();
  };
  std::ranges::stable_sort(components,
                           [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

/// The component of a scenario's job: the plan has that job's roles by their own names, of a role
/// with placements for several sizes the one asked for, else the first. Of RLinf's documents all is
/// one job, of RLinf's family.
PlacedRole placed_role(const scenarios::PlacementDocument& document,
                       const placement::Plan& plan,
                       const std::string& component) {
  const auto job = std::find_if(
      document.jobs.begin(), document.jobs.end(), [&](const scenarios::PlacedJob& one) {
        return component.starts_with(one.prefix);
      });
  if (job == document.jobs.end())
    return {workers::PlanSurroundings{}.job, component, WorkerFamily::RLinf, plan};
  PlacedRole out{
      scenarios::full_job_name(job->name), component, job->family, {}, job->backoff_limit};
  out.plan.mode = plan.mode;
  out.plan.isolate_accelerators = plan.isolate_accelerators;
  std::map<std::string, std::string> chosen;  // Role -> component.
  std::map<std::string, std::string> roles;   // Component -> role.
  for (const scenarios::PlacedJob::Role& role : job->roles) {
    roles[role.component] = role.name;
    const auto [first, fresh] = chosen.emplace(role.name, role.component);
    if (role.component == component) first->second = component;
  }
  for (const placement::ComponentPlan& one : plan.components) {
    if (!one.name.starts_with(job->prefix)) continue;
    const auto role = roles.find(one.name);
    if (role != roles.end() && chosen[role->second] != one.name) continue;
    out.plan.components.push_back(one);
    out.plan.components.back().name =
        role != roles.end() ? role->second : one.name.substr(job->prefix.size());
    if (one.name == component) out.role = out.plan.components.back().name;
  }
  if (const JobSpec* const spec = spec_of(document, *job)) {
    sort_by_role(*spec, out.plan.components);
    out.worker_group = layout_of(*spec, out.role);
  }
  return out;
}

ExitCode show_environments(const scenarios::PlacementDocument& document,
                           const placement::Plan& plan,
                           const Arguments& arguments,
                           Console& console) {
  const PlacedProcesses processes = placed_processes(*arguments.value("--env"));
  PlacedRole placed = placed_role(document, plan, processes.component);
  if (const auto family = arguments.value("--family"))
    placed.family = enum_from<WorkerFamily>(*family).value();
  const Result<EnvironmentPage> page =
      placed_environments(placed, document.inventory, processes, arguments.has("--json"));
  if (!page) return refuse(page.errors(), arguments.has("--json"), console);
  console.out(page->out);
  console.err(page->remarks);
  return ExitCode::Met;
}

/// The job or the scenario that a document of RLinf is.
ExitCode show_as(const scenarios::PlacementDocument& document,
                 const placement::Plan& plan,
                 const Arguments& arguments,
                 Console& console) {
  if (!scenarios::is_rlinf_document(document)) {
    return refuse({{.subject = "orrery place: --as",
                    .message = "found a document of another kind, needed component_placement as in "
                               "documents of RLinf; leave --as out"}},
                  arguments.has("--json"),
                  console);
  }
  scenarios::RlinfJobWords words;
  words.name = scenarios::job_name_of_file(arguments.operands().front());
  words.command = arguments.value("--command").value_or("");
  const Result<std::string> text = *arguments.value("--as") == "job"
                                       ? scenarios::job_of_plan(document, plan, words)
                                       : scenarios::scenario_of_plan(document, plan, words);
  if (!text) return refuse(text.errors(), arguments.has("--json"), console);
  console.out(*text);
  return ExitCode::Met;
}

}  // namespace

ExitCode run_place(const Arguments& arguments, Console& console) {
  if (arguments.has("--search")) return run_place_search(arguments, console);
  const bool as_json = arguments.has("--json");
  for (const char* option : {"--job", "--turns", "--candidates", "--top"})
    if (arguments.has(option))
      return refuse(
          {{.subject = "orrery place: " + std::string(option),
            .message = "found it without --search, which it is for; add --search or remove it"}},
          as_json,
          console);
  if (arguments.value("--mode") && arguments.value("--program"))
    return refuse({{.subject = "orrery place: --mode",
                    .message = "found --program as well, needed one of them, for a program has its "
                               "mode; remove one"}},
                  as_json,
                  console);
  const std::string& path = arguments.operands().front();
  const std::string file = path == "-" ? "standard input" : path;
  const auto text = read_input_or_stdin(path);
  if (!text) return refuse(text.errors(), as_json, console);
  const Result<scenarios::PlacementContext> context = placement_context(words_of(arguments));
  if (!context) return refuse(context.errors(), as_json, console);
  const scenarios::PlacementDocument document =
      scenarios::read_placement_document(*text, mode_of(arguments), *context);
  const scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(document);
  if (!answer.findings.empty())
    return refuse(answer.findings, file, document.files, as_json, console);
  console.err(text_of(answer.warnings, file, document.files, "warning: "));
  if (arguments.value("--env")) return show_environments(document, answer.plan, arguments, console);
  if (arguments.value("--as")) return show_as(document, answer.plan, arguments, console);
  if (as_json)
    console.out(placement_json(answer.plan, document.inventory));
  else if (arguments.has("--explicit"))
    console.out(explicit_placement(answer.plan, document.inventory));
  else
    console.out(pages(document, answer, console.traits()));
  return ExitCode::Met;
}

}  // namespace orrery::cli
