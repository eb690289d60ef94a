// A YAML document as a tree that remembers where each part stands. The only place, with its
// source file, that knows yaml-cpp; its exceptions end here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::scenarios {

/// Where a part of the tree was written: in the file, or in one of the overrides.
struct Origin {
  std::uint32_t source = 0;  ///< 0: the file; k: the k-th override, from 1.
  int line = 0;              ///< From 1, in the file.

  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// Where the words of a part begin, behind an anchor, a tag and an opening quote. Both from 1; line
/// 0 in an override. A column counts bytes.
struct TextStart {
  int line = 0;
  int column = 0;

  friend auto operator<=>(const TextStart&, const TextStart&) = default;
};

struct YamlEntry;

/// One value. Anchors are resolved: each alias holds its own copy.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
struct YamlNode {
  YamlNode();  // All six are compiled once, in the source.
  YamlNode(const YamlNode& other);
  YamlNode(YamlNode&& other) noexcept;
  YamlNode& operator=(const YamlNode& other);
  YamlNode& operator=(YamlNode&& other) noexcept;
  ~YamlNode();

  enum class Kind : std::uint8_t { Null, Scalar, Sequence, Map };

  Kind kind = Kind::Null;
  Origin origin;
  TextStart start;
  bool quoted = false;  ///< Scalar in quotes: text, whatever it looks like.
  std::string scalar;
  std::vector<YamlNode> items;     ///< Sequence.
  std::vector<YamlEntry> entries;  ///< Map, in the order of the document; keys may repeat.

  bool is_null() const { return kind == Kind::Null; }

  bool is_scalar() const { return kind == Kind::Scalar; }

  bool is_sequence() const { return kind == Kind::Sequence; }

  bool is_map() const { return kind == Kind::Map; }

  /// The first value under `key`, or nullptr. Null where this is no map.
  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);

  /// Where the value under `key` is best pointed at: a scalar itself, else its key; where there is
  /// none, this map.
  Origin origin_of(std::string_view key) const;
};

// NOLINTNEXTLINE(misc-no-recursion): as its values
struct YamlEntry {
  std::string key;
  Origin key_origin;
  YamlNode value;
  TextStart key_start;
};

/// "nothing", "'text'", "a list" or "a map": what an error message says was found.
std::string describe(const YamlNode& node);

/// Limits of what is accepted: far above any real scenario, far below what hurts.
inline constexpr int kYamlDepthMax = 64;
inline constexpr std::size_t kYamlNodesMax = 2'000'000;
inline constexpr std::size_t kYamlTextMax = std::size_t{64} << 20;
inline constexpr std::size_t kYamlDocumentsMax = 100'000;

/// Parses one document; an empty one is Null. `source` marks every origin. Errors: not YAML, more
/// than one document, deeper or (aliases counted as copies) larger than the limits above.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& file, std::uint32_t source);

/// Parses every document of a file, which `---` separates. Anchors end with their document; the
/// limits are those of all documents together. Errors: as `parse_yaml`.
Result<std::vector<YamlNode>> parse_yaml_documents(std::string_view text, const std::string& file);

}  // namespace orrery::scenarios
