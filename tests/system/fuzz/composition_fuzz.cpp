// Documents of RLinf may be composed of any files in any way: there is a tree or errors with words,
// cycles of files and of references end, and nothing is read but the files given. A line "=== path"
// begins a file, the first of which is the document; "--- word" is one of the command line, "+++
// words" are what --nodes says, in place of 4xH100:2, and without words it says nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/as_job.hpp"
#include "scenarios/language/rlinf/composition.hpp"
#include "scenarios/language/rlinf/interpolation.hpp"
#include "scenarios/language/rlinf/inventory_words.hpp"

namespace {

using namespace orrery;

struct Input {
  std::string document = "d.yaml";
  std::map<std::string, std::string> files;
  std::vector<std::string> words;
  std::string nodes = "4xH100:2";
};

Input input_of(std::string_view text) {
  Input out;
  bool has_document = false;
  std::string* file = &out.files[out.document];
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("=== ")) {
      const std::string path(line.substr(4));
      if (!has_document) out.document = path;
      has_document = true;
      file = &out.files[path];
    } else if (line.starts_with("--- ")) {
      out.words.emplace_back(line.substr(4));
    } else if (line.starts_with("+++ ")) {
      out.nodes = line.substr(4);
    } else {
      file->append(line) += '\n';
    }
  }
  return out;
}

/// Follows every reference of a composed tree: each ends with a value or with words.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, of which composition has a bound
void follow(const scenarios::YamlNode& node,
            const scenarios::Interpolation& values,
            const std::string& path,
            int& left) {
  if (--left < 0) return;
  if (node.is_scalar()) {
    const auto value = values.at(path);
    invariant(value || !value.errors().front().message.empty(), "a value or words");
  }
  for (const scenarios::YamlEntry& entry : node.entries)
    follow(entry.value, values, path.empty() ? entry.key : path + "." + entry.key, left);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    follow(node.items[i], values, path + "[" + std::to_string(i) + "]", left);
}

void place(const Input& input, const scenarios::PlacementContext& context) {
  const auto document = scenarios::read_placement_document(
      input.files.at(input.document), scenarios::PlacementMode::AsWritten, context);
  const auto answer = scenarios::resolve_placement_document(document);
  invariant(answer.findings.empty() || answer.plan.components.empty(), "a plan or errors");
  for (const scenarios::PlacementFinding& finding : answer.findings)
    invariant(!finding.kind.empty() && !finding.message.empty() && finding.at.line >= 0 &&
                  finding.at.line < 1'000'000,
              "every error has a kind, words and a line of its file");
  std::size_t processes = 0;
  for (const placement::ComponentPlan& component : answer.plan.components)
    processes += component.processes.size();
  if (!answer.findings.empty() || processes > 10'000 || !scenarios::is_rlinf_document(document))
    return;
  const auto job = scenarios::job_of_plan(document, answer.plan, {.name = "fuzzed"});
  invariant(!job || !job->empty(), "a job");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 64 * 1024) return 0;
  const Input input = input_of({reinterpret_cast<const char*>(data), size});
  scenarios::PlacementContext context;
  context.path = input.document;
  context.sources.read = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = input.files.find(path);
    if (found == input.files.end()) return std::nullopt;
    return found->second;
  };
  context.sources.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name.size() % 2 != 0) return std::nullopt;
    return "folder/" + name;
  };
  context.sources.search = {"search"};
  context.sources.overrides = input.words;
  const auto composed =
      scenarios::compose(input.files.at(input.document), input.document, context.sources);
  if (composed) {
    int left = 2'000;
    follow(composed->root,
           scenarios::Interpolation(composed->root, context.sources.variable),
           "",
           left);
  } else {
    for (const Error& error : composed.errors()) invariant(!error.text().empty(), "words");
  }
  if (auto nodes = scenarios::inventory_of_words(input.nodes))
    context.nodes = std::move(nodes).value();
  place(input, context);
  return 0;
}
