// Changes texts by their parts, so that what comes out is mostly still YAML or JSON: a fuzzer that
// changes bytes mostly makes texts that no reader gets beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"

namespace orrery::tests {

/// A part of a text: an entry `key: value` with what is indented below it, an item of a list, or
/// what stands between two commas of a bracket. Places are bytes of the text, ends are beyond it.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// Equal to `end` where there is none.
  std::size_t value = 0;
  /// Columns before it; 0 within brackets.
  std::size_t indent = 0;
  /// Without quotes; empty for an item.
  std::string key;
  /// Key of the part that it is in; empty at the top.
  std::string parent;
  bool is_in_bracket = false;
};

/// All parts, those of lines before those of brackets and of tables. Any bytes have parts; texts
/// that are neither YAML nor JSON have odd ones.
std::vector<TextPart> parts_of(std::string_view text);

/// Keeps parts of the texts that it has seen and puts them into others.
class TextMutator {
 public:
  /// Remembers parts of `text`; of all texts 64 at most under each of 4,000 keys.
  void learn(std::string_view text);

  /// `text` with one to four changes, at most `bytes_max` bytes. The same for the same seed after
  /// the same texts.
  std::string mutated(std::string_view text, std::size_t bytes_max, std::uint64_t seed) const;

 private:
  /// What was seen under one key. Old ones make room for new ones.
  using Seen = std::vector<std::string>;

  static void keep(Seen& seen, std::string_view text, Random& random);

  std::string changed(const std::string& text, Random& random) const;
  std::string some_value(const std::string& key, Random& random) const;
  std::string some_entry(const std::string& parent, bool in_bracket, Random& random) const;

  /// Values by key, and whole entries by the key of what they are in; keys of both in `*_keys_`.
  std::map<std::string, Seen> values_;
  std::map<std::string, Seen> entries_;
  std::vector<std::string> value_keys_;
  std::vector<std::string> entry_keys_;
  Random learning_{1};
};

}  // namespace orrery::tests
