// What the nodes of a cluster have, said in few words or in a file, for documents that do not say
// it: RLinf asks its nodes.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// Whether `words` are meant as an inventory rather than as the name of a file: they begin with a
/// number.
bool are_inventory_words(std::string_view words);

/// "8xH100:2,4xA100,0:3": two nodes of eight H100, one of four A100, three without devices; the
/// value that `cluster.nodes` would have. Without a model, "8:2", devices are of any. Errors: which
/// part is not of this form.
Result<YamlNode> inventory_of_words(std::string_view words);

/// The same from the text of a file: a list of nodes as in `cluster.nodes`, or a document with
/// such a list under `nodes` or `cluster`.
Result<YamlNode> inventory_of_file(std::string_view text, const std::string& path);

}  // namespace orrery::scenarios
