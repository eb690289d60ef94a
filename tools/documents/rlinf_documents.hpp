// Documents of RLinf on the command line: what they take from outside, and the job or scenario that
// one is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/as_job.hpp"

namespace orrery::cli {

/// What the command line says beside the document.
struct DocumentWords {
  std::string path;                    ///< Of the document; "-": standard input.
  std::vector<std::string> overrides;  ///< KEY=VALUE, +KEY=VALUE, ~KEY.
  std::vector<std::string> search;     ///< Folders for files of `defaults`.
  std::optional<std::string> nodes;    ///< "8xH100:2", or a file; none: as the document says.
  std::optional<std::string> program;  ///< Name of an RlinfProgram; none: as the document says.
};

/// Errors: nodes that are neither words nor a file with a list of nodes, an unknown program.
Result<scenarios::PlacementContext> placement_context(const DocumentWords& words);

/// Whether a text places components as RLinf's documents do: then it is no job of ours.
bool is_rlinf_text(std::string_view text);

/// The text of the job file that the document is. Errors: all that is wrong with it, with file and
/// line, nodes that are not known, and what scenarios::job_of_plan refuses. What is placed all the
/// same, and is probably not meant, is appended to `warnings`.
Result<std::string> rlinf_job(std::string_view text,
                              const scenarios::PlacementContext& context,
                              const scenarios::RlinfJobWords& job,
                              Errors& warnings);

/// The same as a scenario with the document's nodes.
Result<std::string> rlinf_scenario(std::string_view text,
                                   const scenarios::PlacementContext& context,
                                   const scenarios::RlinfJobWords& job,
                                   Errors& warnings);

}  // namespace orrery::cli
