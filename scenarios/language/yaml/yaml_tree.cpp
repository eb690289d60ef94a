#include "scenarios/language/yaml/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "core/placement/rank_text.hpp"

namespace orrery::scenarios {

YamlNode::YamlNode() = default;
YamlNode::YamlNode(const YamlNode& other) = default;
YamlNode::YamlNode(YamlNode&& other) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode& other) = default;
YamlNode& YamlNode::operator=(YamlNode&& other) noexcept = default;
YamlNode::~YamlNode() = default;

namespace {

/// Ends the parse at a limit; never leaves this file.
struct LimitReached {
  int line;
  std::string message;
};

/// How large a value is, aliases unfolded.
struct Extent {
  std::size_t nodes = 1;
  int depth = 1;

  void hold(const Extent& inner) {
    nodes += inner.nodes;
    depth = std::max(depth, inner.depth + 1);
  }
};

/// Finds where words begin: the parser tells where a value begins, with all that decorates it.
class TextStarts {
 public:
  explicit TextStarts(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') lines_.push_back(i + 1);
  }

  TextStart of(const YAML::Mark& mark, bool scalar) const {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    const auto column = static_cast<std::size_t>(std::max(mark.column, 0));
    if (!scalar || line >= lines_.size() || lines_[line] + column >= text_.size())
      return {mark.line + 1, mark.column + 1};
    std::size_t at = lines_[line] + column;
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) at = next_word(at);
    if (at < text_.size() && (text_[at] == '|' || text_[at] == '>'))
      at = text_.find_first_not_of(" \n", std::min(text_.find('\n', at), text_.size()));
    else if (at < text_.size() && (text_[at] == '"' || text_[at] == '\''))
      ++at;
    if (at >= text_.size()) return {mark.line + 1, mark.column + 1};
    return place(at, line);
  }

 private:
  std::size_t next_word(std::size_t at) const {
    at = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
    return std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
  }

  TextStart place(std::size_t at, std::size_t line) const {
    while (line + 1 < lines_.size() && lines_[line + 1] <= at) ++line;
    return {static_cast<int>(line) + 1, static_cast<int>(at - lines_[line]) + 1};
  }

  std::string_view text_;
  std::vector<std::size_t> lines_;
};

/// Builds the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::uint32_t source, std::string_view text, std::size_t documents_max)
      : source_(source), documents_max_(documents_max), starts_(text) {}

  std::vector<YamlNode> take() { return std::move(roots_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (roots_.size() >= documents_max_)
      throw LimitReached{mark.line + 1,
                         documents_max_ == 1
                             ? "a second document begins here, one is needed; remove it"
                             : "more than " + std::to_string(documents_max_) +
                                   " documents, fewer are needed; split the file"};
    anchors_.clear();  // Each document counts its own anchors.
    roots_.emplace_back();
    roots_.back().origin = {source_, source_ == 0 ? mark.line + 1 : 0};
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(YamlNode::Kind::Null, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw LimitReached{mark.line + 1,
                         "an alias stands inside its own anchor, which never ends; write the "
                         "value out"};
    const Anchored& anchored = found->second;
    nodes_ += anchored.extent.nodes;
    check_limits(mark, anchored.extent.depth);
    add(anchored.node, YAML::NullAnchor, anchored.extent);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = make(YamlNode::Kind::Scalar, mark);
    node.quoted = tag == "!";
    node.scalar = value;
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string&,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::Sequence, mark), anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string&,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::Map, mark), anchor);
  }

  void OnMapEnd() override { close(); }

 private:
  struct Anchored {
    YamlNode node;
    Extent extent;
  };

  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    Extent extent;
    bool has_key = false;  // Map: a key waits for its value.
    std::string key;
    Origin key_origin;
    TextStart key_start;
  };

  YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    ++nodes_;
    check_limits(mark, 1);
    YamlNode node;
    node.kind = kind;
    node.origin = {source_, source_ == 0 ? mark.line + 1 : 0};
    if (source_ == 0) node.start = starts_.of(mark, kind == YamlNode::Kind::Scalar);
    return node;
  }

  void check_limits(const YAML::Mark& mark, int depth) const {
    const int line = mark.line + 1;
    if (nodes_ > kYamlNodesMax)
      throw LimitReached{line,
                         "the document unfolds to more than " + std::to_string(kYamlNodesMax) +
                             " values, fewer are needed; use fewer aliases or a workload file"};
    if (static_cast<int>(open_.size()) + depth > kYamlDepthMax)
      throw LimitReached{line,
                         "values are nested deeper than " + std::to_string(kYamlDepthMax) +
                             " levels, fewer are needed; flatten the document"};
  }

  void open(YamlNode node, YAML::anchor_t anchor) {
    Open level;
    level.node = std::move(node);
    level.anchor = anchor;
    open_.push_back(std::move(level));
  }

  void close() {
    Open level = std::move(open_.back());
    open_.pop_back();
    add(std::move(level.node), level.anchor, level.extent);
  }

  void add(YamlNode node, YAML::anchor_t anchor, const Extent& extent = {}) {
    if (anchor != YAML::NullAnchor) {
      nodes_ += extent.nodes;  // What an anchor keeps is a copy too.
      YAML::Mark mark;
      mark.line = node.origin.line - 1;
      check_limits(mark, extent.depth);
      anchors_[anchor] = Anchored{node, extent};
    }
    if (open_.empty()) {
      roots_.back() = std::move(node);
      return;
    }
    Open& level = open_.back();
    level.extent.hold(extent);
    if (level.node.is_sequence()) {
      level.node.items.push_back(std::move(node));
    } else if (!level.has_key) {
      if (!node.is_scalar())
        throw LimitReached{node.origin.line,
                           "a key is " + describe(node) + ", a plain word is needed; correct it"};
      level.has_key = true;
      level.key = std::move(node.scalar);
      level.key_origin = node.origin;
      level.key_start = node.start;
    } else {
      level.has_key = false;
      // The parser finds nothing only where the next thing begins.
      if (node.is_null() && node.start.line != level.key_start.line) node.start = level.key_start;
      level.node.entries.push_back(
          {std::move(level.key), level.key_origin, std::move(node), level.key_start});
    }
  }

  std::uint32_t source_;
  std::size_t documents_max_;
  TextStarts starts_;
  std::size_t nodes_ = 0;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Open> open_;
  std::vector<YamlNode> roots_;
};

Error yaml_error(const std::string& file, std::uint32_t source, int line, std::string message) {
  return {ErrorCode::InvalidInput, file, source == 0 ? line : 0, "YAML", std::move(message)};
}

Result<std::vector<YamlNode>> parse(std::string_view text,
                                    const std::string& file,
                                    std::uint32_t source,
                                    std::size_t documents_max) {
  if (text.size() > kYamlTextMax)
    return yaml_error(file,
                      source,
                      0,
                      "the text has " + std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(kYamlTextMax) + " are read; use a workload file");
  std::istringstream in{std::string(text)};
  TreeBuilder builder(source, text, documents_max);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const LimitReached& limit) {
    return yaml_error(file, source, limit.line, limit.message);
  } catch (const YAML::Exception& broken) {
    return yaml_error(file,
                      source,
                      broken.mark.is_null() ? 0 : broken.mark.line + 1,
                      "cannot be read (" + broken.msg +
                          "), well-formed YAML is needed; correct the line or the one above it");
  }
  return builder.take();
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

YamlNode* YamlNode::find(std::string_view key) {
  for (YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Origin YamlNode::origin_of(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key != key) continue;
    const YamlNode& value = entry.value;
    return value.is_scalar() || value.origin.source != 0 ? value.origin : entry.key_origin;
  }
  return origin;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "nothing";
    case YamlNode::Kind::Scalar:
      return placement::in_quotes(node.scalar);
    case YamlNode::Kind::Sequence:
      return node.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::Map:
      return node.entries.empty() ? "an empty map" : "a map";
  }
  return "nothing";
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& file, std::uint32_t source) {
  Result<std::vector<YamlNode>> documents = parse(text, file, source, 1);
  if (!documents) return documents.errors();
  return documents->empty() ? YamlNode{} : std::move(documents->front());
}

Result<std::vector<YamlNode>> parse_yaml_documents(std::string_view text, const std::string& file) {
  return parse(text, file, 0, kYamlDocumentsMax);
}

}  // namespace orrery::scenarios
