#include "scenarios/language/yaml/section_table.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery::scenarios {

SectionTable::SectionTable(std::span<const SectionKeys> rows) {
  std::vector<std::size_t> ends;
  for (const SectionKeys& row : rows) {
    for (std::string_view rest : row.keys)
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        keys_.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    ends.push_back(keys_.size());
  }
  std::size_t begin = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    sections_.push_back({rows[row].section, std::span(keys_).subspan(begin, ends[row] - begin)});
    begin = ends[row];
  }
}

const Section& SectionTable::find(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  invariant(found != sections_.end(), "a section that is read is in its table");
  return *found;
}

}  // namespace orrery::scenarios
