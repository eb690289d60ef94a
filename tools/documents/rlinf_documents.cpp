#include "tools/documents/rlinf_documents.hpp"

#include <cstdlib>
#include <utility>

#include "scenarios/language/rlinf/inventory_words.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"
#include "tools/console/input_file.hpp"

namespace orrery::cli {
namespace {

using scenarios::PlacementAnswer;
using scenarios::PlacementDocument;
using scenarios::PlacementFinding;
using scenarios::YamlNode;

Errors errors_of(const std::vector<PlacementFinding>& findings,
                 const PlacementDocument& document,
                 const std::string& path) {
  Errors out;
  for (const PlacementFinding& finding : findings) {
    Error& error = out.emplace_back();
    error.file = finding.file > 0 && finding.file < document.files.size()
                     ? document.files[finding.file]
                     : path;
    error.line = finding.at.line;
    error.message = finding.message;
  }
  return out;
}

/// The document with its plan.
struct Placed {
  PlacementDocument document;
  placement::Plan plan;
};

Result<Placed> placed(std::string_view text,
                      const scenarios::PlacementContext& context,
                      Errors& warnings) {
  const std::string path = context.path.empty() ? "standard input" : context.path;
  Placed out;
  out.document =
      scenarios::read_placement_document(text, scenarios::PlacementMode::AsWritten, context);
  PlacementAnswer answer = scenarios::resolve_placement_document(out.document);
  if (!answer.findings.empty()) return errors_of(answer.findings, out.document, path);
  if (!scenarios::is_rlinf_document(out.document))
    return Error{ErrorCode::InvalidInput,
                 path,
                 0,
                 {},
                 "found a strategy or jobs, needed component_placement as in documents of RLinf; "
                 "look at it with orrery place"};
  const Errors told = errors_of(answer.warnings, out.document, path);
  warnings.insert(warnings.end(), told.begin(), told.end());
  out.plan = std::move(answer.plan);
  return out;
}

const YamlNode* entry(const YamlNode& map, std::string_view key) {
  for (const scenarios::YamlEntry& each : map.entries)
    if (each.key == key) return &each.value;
  return nullptr;
}

}  // namespace

Result<scenarios::PlacementContext> placement_context(const DocumentWords& words) {
  scenarios::PlacementContext context;
  if (words.path != "-") context.path = words.path;
  context.sources.read = [](const std::string& path) -> std::optional<std::string> {
    Result<std::string> text = read_input(path);
    if (!text) return std::nullopt;
    return std::move(text).value();
  };
  context.sources.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  context.sources.search = words.search;
  context.sources.overrides = words.overrides;
  if (words.program) {
    context.program = enum_from<scenarios::RlinfProgram>(*words.program);
    if (!context.program)
      return Error{.subject = "--program",
                   .message = "found '" + *words.program + "', needed one of " +
                              enum_choices<scenarios::RlinfProgram>() + "; correct it"};
  }
  if (!words.nodes) return context;
  if (words.nodes->empty())
    return Error{.subject = "--nodes",
                 .message =
                     "is empty, nodes or a file of them are needed; write for example "
                     "--nodes 8xH100:2"};
  Result<YamlNode> nodes = Error{};
  if (scenarios::are_inventory_words(*words.nodes)) {
    nodes = scenarios::inventory_of_words(*words.nodes);
  } else {
    const Result<std::string> text = read_input(*words.nodes);
    if (!text) return text.errors();
    nodes = scenarios::inventory_of_file(*text, *words.nodes);
  }
  if (!nodes) return nodes.errors();
  context.nodes = std::move(nodes).value();
  return context;
}

bool is_rlinf_text(std::string_view text) {
  // Most texts are none, and some are large: those are not read twice.
  const bool may_be = text.find("component_placement") != std::string_view::npos ||
                      text.find("defaults") != std::string_view::npos;
  if (!may_be) return false;
  const Result<YamlNode> root = scenarios::parse_yaml(text, "", 0);
  if (!root || !root->is_map()) return false;
  const YamlNode* cluster = entry(*root, "cluster");
  const YamlNode* defaults = entry(*root, "defaults");
  return entry(*root, "component_placement") != nullptr ||
         (cluster != nullptr && entry(*cluster, "component_placement") != nullptr) ||
         (defaults != nullptr && defaults->is_sequence());
}

Result<std::string> rlinf_job(std::string_view text,
                              const scenarios::PlacementContext& context,
                              const scenarios::RlinfJobWords& job,
                              Errors& warnings) {
  const Result<Placed> one = placed(text, context, warnings);
  if (!one) return one.errors();
  return scenarios::job_of_plan(one->document, one->plan, job);
}

Result<std::string> rlinf_scenario(std::string_view text,
                                   const scenarios::PlacementContext& context,
                                   const scenarios::RlinfJobWords& job,
                                   Errors& warnings) {
  const Result<Placed> one = placed(text, context, warnings);
  if (!one) return one.errors();
  return scenarios::scenario_of_plan(one->document, one->plan, job);
}

}  // namespace orrery::cli
