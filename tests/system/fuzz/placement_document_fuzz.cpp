// A placement document may be any bytes: it gives a plan, or errors with words, and never throws.
// What it prints for people and for scripts is made too, for it is computed from the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/invariant.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "tools/orrery/place_json.hpp"
#include "tools/orrery/place_picture.hpp"
#include "tools/orrery/place_tables.hpp"

namespace {

using namespace orrery;

void check(std::string_view text, scenarios::PlacementMode mode) {
  const auto document = scenarios::read_placement_document(text, mode);
  const auto answer = scenarios::resolve_placement_document(document);
  invariant(answer.findings.empty() || answer.plan.components.empty(), "a plan or errors");
  for (const scenarios::PlacementFinding& finding : answer.findings)
    invariant(!finding.kind.empty() && !finding.message.empty() &&
                  finding.at.line < 1'000'000'000 && finding.at.line >= 0,
              "every error has a kind, words and a place of one text");
  std::size_t processes = 0;
  for (const placement::ComponentPlan& component : answer.plan.components)
    processes += component.processes.size();
  if (!answer.findings.empty() || processes > 10'000) return;
  invariant(!cli::placement_json(answer.plan, document.inventory).empty(), "a document");
  invariant(!cli::placement_tables(answer.plan, document.inventory, 80).empty(), "tables");
  if (document.inventory.nodes.size() > 10'000) return;
  invariant(!cli::placement_picture(answer.plan, document.inventory, {}).empty(), "a picture");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, orrery::scenarios::PlacementMode::AsWritten);
  return 0;
}
