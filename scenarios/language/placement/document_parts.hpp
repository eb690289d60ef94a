// The parts of a placement document, wherever its form keeps them.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/language/placement/document_reading.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// A document and, where it has one, the YAML text in it that replaces parts of it.
class DocumentParts {
 public:
  /// Reads both, the document composed where it has a list of defaults; then its files are in
  /// `files`. What cannot be read is reported, and is empty here.
  DocumentParts(std::string_view text,
                const PlacementContext& context,
                DocumentReading& reading,
                std::vector<std::string>& files);

  DocumentParts(const DocumentParts&) = delete;
  DocumentParts& operator=(const DocumentParts&) = delete;

  /// Whether there is anything to read on.
  bool readable() const { return root_.is_map(); }

  const YamlNode& root() const { return root_; }

  /// The part under `key`: of `yaml_text` or its `cluster`, else of the document or its `cluster`.
  /// Null where there is none; the node may be a null.
  const YamlNode* find(std::string_view key) const;

  /// The map that has the nodes: the innermost `cluster`, else where `nodes` stands.
  const YamlNode* cluster() const;

  /// `component_placement`; null where there is none.
  const YamlNode* placement() const;

 private:
  void read_yaml_text(DocumentReading& reading);
  void check_repeated(DocumentReading& reading) const;
  void take_value(DocumentReading& reading);

  YamlNode root_;
  YamlNode yaml_text_;
  YamlNode mended_placement_;            ///< With a `yaml_text` that is one placement.
  std::vector<const YamlNode*> levels_;  ///< Where parts are looked for, in this order.
  const YamlNode* placement_ = nullptr;  ///< Where `yaml_text` is one as a whole.
};

}  // namespace orrery::scenarios
