// place: resolves a placement document and shows which component would get which devices; starts
// nothing.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_text.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "tools/console/input_file.hpp"
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

std::string json_of(const std::vector<PlacementFinding>& findings) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("errors").begin_array();
  for (const PlacementFinding& finding : findings) {
    json.begin_object().field("kind", finding.kind).field("stage", to_string(finding.stage));
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
std::string text_of(std::vector<PlacementFinding> findings, const std::string& file) {
  std::stable_sort(
      findings.begin(), findings.end(), [](const PlacementFinding& a, const PlacementFinding& b) {
        return std::tie(a.in_yaml_text, a.at) < std::tie(b.in_yaml_text, b.at);
      });
  std::string text;
  for (const PlacementFinding& finding : findings) {
    text += file + (finding.in_yaml_text ? ":yaml_text" : "");
    if (finding.at.line > 0) text += ":" + std::to_string(finding.at.line);
    if (finding.at.line > 0 && finding.at.column > 0)
      text += ":" + std::to_string(finding.at.column);
    text += ": " + printable(finding.message) + "\n";
  }
  return text;
}

ExitCode refuse(const std::vector<PlacementFinding>& findings,
                const std::string& file,
                bool as_json,
                Console& console) {
  if (as_json)
    console.out(json_of(findings));
  else
    console.err(text_of(findings, file));
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

/// Whose variables the component's processes find: those that its job names, and RLinf's where the
/// document is RLinf's.
WorkerFamily family_of(const scenarios::PlacementDocument& document, std::string_view component) {
  for (const scenarios::PlacedJob& job : document.jobs)
    if (component.starts_with(job.prefix)) return job.family;
  return WorkerFamily::RLinf;
}

ExitCode show_environments(const scenarios::PlacementDocument& document,
                           const placement::Plan& plan,
                           const Arguments& arguments,
                           Console& console) {
  const PlacedProcesses processes = placed_processes(*arguments.value("--env"));
  const std::optional<std::string> family = arguments.value("--family");
  const Result<EnvironmentPage> page = placed_environments(
      plan,
      document.inventory,
      processes,
      family ? enum_from<WorkerFamily>(*family).value() : family_of(document, processes.component),
      arguments.has("--json"));
  if (!page) {
    console.errors(page.errors());
    return ExitCode::BadInput;
  }
  console.out(page->out);
  console.err(page->remarks);
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
    return refuse({{"document", placement::Stage::Config, {}, false, text.errors()[0].text()}},
                  file,
                  as_json,
                  console);
  }
  const scenarios::PlacementDocument document =
      scenarios::read_placement_document(*text, mode_of(arguments));
  const scenarios::PlacementAnswer answer = scenarios::resolve_placement_document(document);
  if (!answer.findings.empty()) return refuse(answer.findings, file, as_json, console);
  if (arguments.value("--env")) return show_environments(document, answer.plan, arguments, console);
  if (as_json)
    console.out(placement_json(answer.plan, document.inventory));
  else if (arguments.has("--explicit"))
    console.out(explicit_placement(answer.plan, document.inventory));
  else
    console.out(pages(document, answer.plan, console.traits()));
  return ExitCode::Met;
}

}  // namespace orrery::cli
