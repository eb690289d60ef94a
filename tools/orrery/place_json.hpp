// A placement plan for scripts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/placement/plan.hpp"
#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::cli {

/// `{component: [records]}` with one record a process in rank order, one a line; ends with a
/// newline. docs/placement_documents.md has the keys.
std::string placement_json(const placement::Plan& plan, const placement::Inventory& inventory);

/// `{"errors": [{"kind", "stage", "line", "column", "message"}]}`, and "file" of one in a file that
/// the document is composed of: those of `files` but the first. Ends with a newline.
std::string placement_errors_json(std::span<const scenarios::PlacementFinding> findings,
                                  const std::vector<std::string>& files);

/// The same for what is wrong about the command or its file as a whole: of kind "document".
std::string placement_errors_json(const Errors& errors);

}  // namespace orrery::cli
