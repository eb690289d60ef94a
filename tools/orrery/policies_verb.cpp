// policies: the registries of policies and placers, for people and scripts.
#include <string>

#include "core/base/json_text.hpp"
#include "core/placer/registry.hpp"
#include "policies/registry.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

std::string bounds_of(const policies::ParameterRow& row) {
  if (row.least.empty() && row.most.empty()) return {};
  if (row.most.empty()) return ", at least " + std::string(row.least);
  if (row.least.empty()) return ", at most " + std::string(row.most);
  return ", " + std::string(row.least) + " to " + std::string(row.most);
}

std::string text() {
  std::string out;
  for (const policies::PolicyRow& row : policies::rows()) {
    out += std::string(row.name) + "\n    " + std::string(row.summary) + "\n";
    if (!policies::is_available(row))
      out += "    not in this program: it was built without coinor-libcbc-dev\n";
    for (const policies::ParameterRow& parameter : row.parameters) {
      out += "    " + std::string(parameter.name) + ": " + std::string(to_string(parameter.type));
      if (!parameter.unit.empty()) out += " (" + std::string(parameter.unit) + ")";
      out += ", default " + std::string(parameter.initial) + bounds_of(parameter) + "\n        " +
             std::string(parameter.help) + "\n";
    }
  }
  out +=
      "\nqueues stand in front of any of them: policy: {name: las, queues: {tree: ...}}, see "
      "docs/queues.md\n";
  out += "\nplacers, chosen by `placer:` beside the policy\n";
  for (const placers::PlacerRow& row : placers::rows())
    out += std::string(row.name) + "\n    " + std::string(row.summary) +
           (&row.placer == &placers::initial() ? "; the one where none is named\n" : "\n");
  return out;
}

std::string json() {
  JsonText out(JsonText::Layout::Indented);
  out.begin_object().key("policies").begin_array();
  for (const policies::PolicyRow& row : policies::rows()) {
    out.begin_object().field("name", row.name).field("summary", row.summary);
    out.field("available", policies::is_available(row));
    out.key("parameters").begin_array();
    for (const policies::ParameterRow& parameter : row.parameters) {
      out.begin_object().field("name", parameter.name);
      out.field("type", to_string(parameter.type)).field("unit", parameter.unit);
      out.field("default", parameter.initial).field("least", parameter.least);
      out.field("most", parameter.most).field("help", parameter.help);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().key("placers").begin_array();
  for (const placers::PlacerRow& row : placers::rows()) {
    out.begin_object().field("name", row.name).field("version", row.placer.name());
    out.field("summary", row.summary).end_object();
  }
  out.end_array().end_object();
  return out.take() + "\n";
}

}  // namespace

ExitCode run_policies(const Arguments& arguments, Console& console) {
  console.out(arguments.has("--json") ? json() : text());
  return ExitCode::Met;
}

}  // namespace orrery::cli
