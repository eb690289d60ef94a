// Files of jobs for a controller: what `orrery submit` and `orrery apply` take. docs/job_files.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/priority_class.hpp"
#include "core/job/spec.hpp"
#include "scenarios/language/loader.hpp"

namespace orrery::scenarios {

/// The jobs of one file, each sound, with names that differ.
struct JobFile {
  std::vector<JobSpec> jobs;  ///< At least one, in the order of the file.
  Errors warnings;            ///< What is accepted, but its author should know.
  /// A placement was read without a cluster: it may still be wrong, and replicas and devices of its
  /// role are not known.
  bool needs_cluster = false;
  /// A priority is none of the classes that are known here: its controller has to have it.
  bool needs_priority_classes = false;
};

/// What is known beside the file.
struct JobFileOptions {
  /// Nodes that placements may name, as they were declared. Nothing: no cluster is known, and of a
  /// placement only what holds for every cluster is judged.
  std::optional<std::span<const NodeGroup>> groups = std::nullopt;
  std::vector<Override> overrides;  ///< Of a file with one document, from its top on.
  /// That jobs may name, beside `normal` and `high`.
  std::vector<PriorityClass> priority_classes = {};
  /// Other names are taken too, with the priority of `normal`, and left to a controller to judge.
  bool other_priority_classes = false;
};

/// Reads jobs in our own form and DIJob manifests, in YAML or JSON, from one document or several.
/// Errors: all that is wrong with the file.
Result<JobFile> parse_job_file(std::string_view text,
                               const std::string& file,
                               const JobFileOptions& options = {});

enum class FileKind : std::uint8_t { Scenario, Jobs };

/// Which of the two readers a text is for: a scenario has a key of its top that no job has. A text
/// that is no YAML is for either, and is given to the reader of jobs.
FileKind kind_of_file(std::string_view text);

}  // namespace orrery::scenarios
