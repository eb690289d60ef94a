// Sections of a language of maps, and the keys of each.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {

/// One section as a table says it: its keys, with a space between, in as many texts as it shares
/// with others.
struct SectionKeys {
  std::string_view section;
  std::array<std::string_view, 3> keys{};
};

class SectionTable {
 public:
  /// The texts outlive the table.
  explicit SectionTable(std::span<const SectionKeys> rows);

  SectionTable(const SectionTable&) = delete;
  SectionTable& operator=(const SectionTable&) = delete;

  std::span<const Section> all() const { return sections_; }

  /// The section of this name; it exists.
  const Section& find(std::string_view name) const;

 private:
  std::vector<std::string_view> keys_;
  std::vector<Section> sections_;
};

}  // namespace orrery::scenarios
