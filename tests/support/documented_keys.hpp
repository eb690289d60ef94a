// The tables of a page of docs/, for tests that hold them against what the program knows.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace orrery {

using KeySet = std::set<std::string>;

/// The words in backticks of `text`.
inline KeySet backticked(std::string_view text) {
  KeySet words;
  while (true) {
    const std::size_t open = text.find('`');
    if (open == std::string_view::npos) return words;
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) return words;
    words.insert(std::string(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
}

/// The first cells of the page's tables with this head, by section: the headings with a word in
/// backticks.
inline std::map<std::string, KeySet> documented_keys(const std::string& page,
                                                     const std::string& head) {
  std::ifstream in(std::string(ORRERY_SOURCE_ROOT) + "/docs/" + page);
  std::map<std::string, KeySet> sections;
  std::string current;
  bool reads = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      const KeySet name = backticked(line);
      current = name.empty() ? "" : *name.begin();
      if (!current.empty()) sections[current];
    } else if (line.starts_with("| ") && !line.starts_with("| `")) {
      reads = line.starts_with(head) || (reads && line.starts_with("| ---"));
    } else if (line.starts_with("| `") && reads && !current.empty()) {
      const std::string_view row = std::string_view(line).substr(2);
      for (const std::string& key : backticked(row.substr(0, row.find('|'))))
        EXPECT_TRUE(sections[current].insert(key).second) << current << ": " << key << " twice";
    }
  }
  return sections;
}

}  // namespace orrery
