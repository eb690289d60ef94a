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

#include "core/base/json_text.hpp"
#include "core/workers/plan_environment.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/readers.hpp"
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
  const std::string mode = arguments.value("--mode").value_or("");
  if (mode == "hybrid") return scenarios::PlacementMode::Hybrid;
  if (mode == "model-parallel") return scenarios::PlacementMode::ModelParallel;
  return scenarios::PlacementMode::AsWritten;
}

/// What the command line says beside the document.
DocumentWords words_of(const Arguments& arguments) {
  const std::vector<std::string>& operands = arguments.operands();
  return {operands.front(),
          {operands.begin() + 1, operands.end()},
          arguments.values("--search"),
          arguments.value("--nodes")};
}

std::string json_of(const std::vector<PlacementFinding>& findings,
                    const std::vector<std::string>& files) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("errors").begin_array();
  for (const PlacementFinding& finding : findings) {
    json.begin_object().field("kind", finding.kind).field("stage", to_string(finding.stage));
    if (finding.file > 0 && finding.file < files.size()) json.field("file", files[finding.file]);
    json.field("line", finding.at.line).field("column", finding.at.column);
    json.field("message", finding.message).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
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
                    const std::vector<std::string>& files) {
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
    text += ": " + printable(finding.message) + "\n";
  }
  return text;
}

ExitCode refuse(const std::vector<PlacementFinding>& findings,
                const std::string& file,
                const std::vector<std::string>& files,
                bool as_json,
                Console& console) {
  if (as_json)
    console.out(json_of(findings, files));
  else
    console.err(text_of(findings, file, files));
  return ExitCode::BadInput;
}

std::string pages(const scenarios::PlacementDocument& document,
                  const placement::Plan& plan,
                  const ConsoleTraits& traits) {
  PictureStyle style{traits.colour, traits.out_is_terminal ? traits.columns : 100};
  style.take_turns = document.jobs.size() == 1;
  std::string text;
  if (!document.strategy && document.jobs.empty())
    text += "mode: " + std::string(to_string(plan.mode)) +
            (plan.isolate_accelerators ? "" : ", accelerators not isolated") + "\n\n";
  text += placement_tables(plan, document.inventory, traits.table_width()) + "\n" +
          placement_picture(plan, document.inventory, style);
  for (const std::string& remark : document.remarks) text += remark + "\n";
  return text;
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
  if (!page) {
    console.errors(page.errors());
    return ExitCode::BadInput;
  }
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
    console.err(
        "orrery place: --as: found a document of another kind, needed component_placement as in "
        "documents of RLinf; leave --as out\n");
    return ExitCode::BadInput;
  }
  scenarios::RlinfJobWords words;
  words.name = scenarios::job_name_of_file(arguments.operands().front());
  words.command = arguments.value("--command").value_or("");
  const Result<std::string> text = *arguments.value("--as") == "job"
                                       ? scenarios::job_of_plan(document, plan, words)
                                       : scenarios::scenario_of_plan(document, plan, words);
  if (!text) {
    console.errors(text.errors());
    return ExitCode::BadInput;
  }
  console.out(*text);
  return ExitCode::Met;
}

}  // namespace

ExitCode run_place(const Arguments& arguments, Console& console) {
  const std::string& path = arguments.operands().front();
  const std::string file = path == "-" ? "standard input" : path;
  const bool as_json = arguments.has("--json");
  const auto text = read_input_or_stdin(path);
  if (!text) {
    if (!as_json) {
      console.errors(text.errors());
      return ExitCode::BadInput;
    }
    return refuse({{"document", placement::Stage::Config, {}, false, 0, text.errors()[0].text()}},
                  file,
                  {},
                  as_json,
                  console);
  }
  const Result<scenarios::PlacementContext> context = placement_context(words_of(arguments));
  if (!context) {
    console.errors(context.errors());
    return ExitCode::BadInput;
  }
  const scenarios::PlacementDocument document =
      scenarios::read_placement_document(*text, mode_of(arguments), *context);
  const scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(document);
  if (!answer.findings.empty())
    return refuse(answer.findings, file, document.files, as_json, console);
  if (arguments.value("--env")) return show_environments(document, answer.plan, arguments, console);
  if (arguments.value("--as")) return show_as(document, answer.plan, arguments, console);
  if (as_json)
    console.out(placement_json(answer.plan, document.inventory));
  else if (arguments.has("--explicit"))
    console.out(explicit_placement(answer.plan, document.inventory));
  else
    console.out(pages(document, answer.plan, console.traits()));
  return ExitCode::Met;
}

}  // namespace orrery::cli
