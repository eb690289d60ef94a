// Documents of RLinf as its programs read them: composed of files by a list of defaults, in the
// forms of Hydra's composition that its documents use (docs/placement_documents.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// What a composition takes from outside.
struct CompositionSources {
  std::function<std::optional<std::string>(const std::string& path)>
      read;  ///< The text of a file; nothing where there is no such file.
  std::function<std::optional<std::string>(const std::string& name)>
      variable;                     ///< Of the environment, for ${oc.env:NAME}.
  std::vector<std::string> search;  ///< Folders, looked into after those that the document names.
  std::vector<std::string> overrides;  ///< `a.b=c`, `+a.b=c` where there is none yet, `~a.b`.
};

/// A composed document.
struct Composition {
  YamlNode root;                   ///< Without `defaults` and `hydra`.
  std::vector<std::string> files;  ///< By Origin::source, the document first; then the overrides.
};

/// Whether the document has a list of defaults, so that it means nothing without other files.
bool has_defaults(const YamlNode& root);

/// Composes the document `text` of the file `path`. Entries of `defaults` are merged in their
/// order: maps key by key, lists and scalars are replaced; the document's own keys come last, or
/// where
/// `_self_` stands. An entry `group/file@target` puts a file below a key; `name` is another
/// document of the same folder; `../group/file`, `/group/file`, lists of files and `group: file`
/// are read too, `override hydra/...` is passed over. Files are looked for beside the document,
/// then in its `hydra.searchpath`, then in `sources.search`.
///
/// Errors: all files that are not found, each with the folders that were searched; files that are
/// no YAML or lead back to themselves; overrides of what is not there.
Result<Composition> compose(std::string_view text,
                            const std::string& path,
                            const CompositionSources& sources);

}  // namespace orrery::scenarios
