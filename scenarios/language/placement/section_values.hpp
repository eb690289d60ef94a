// Values of a document's own sections, with what they refer to put in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/language/placement/document_reading.hpp"
#include "scenarios/language/rlinf/interpolation.hpp"
#include "scenarios/language/rlinf/program.hpp"

namespace orrery::scenarios {

/// Reads values by paths like "actor.model.size". What is not there, or null, changes nothing; what
/// is no value of the asked kind, or refers to what cannot be told, is an error of the document.
class SectionValues {
 public:
  /// All that is given must outlive it.
  SectionValues(DocumentReading& reading,
                const YamlNode& config,
                const Interpolation::Variable& variable);

  bool has(std::string_view path) const { return values_.has(path); }

  /// A whole number from 1 to 2^20.
  void read(std::string_view path, std::int32_t& to) const;
  void read(std::string_view path, std::string& to) const;
  void read(std::string_view path, bool& to) const;

  std::optional<PlacedNumber> number(std::string_view path) const;
  std::optional<PlacedWord> word(std::string_view path) const;

  /// The value where it is true.
  std::optional<PlacedWord> if_on(std::string_view path) const;

 private:
  std::optional<YamlNode> at(std::string_view path) const;
  placement::TextPosition place_of_path(std::string_view path, const YamlNode& value) const;

  DocumentReading& reading_;
  const YamlNode& config_;
  Interpolation values_;
};

/// The value at a path of keys like "actor.model", as it is written; null where there is none.
const YamlNode* at_path(const YamlNode& root, std::string_view path);

}  // namespace orrery::scenarios
