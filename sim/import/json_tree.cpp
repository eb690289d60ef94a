#include "sim/import/json_tree.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/json_text.hpp"
#include "sim/traces/json_lines.hpp"

namespace orrery::sim {
namespace {

/// Builds the tree from the parser's calls.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const std::size_t& line, const std::string& file) : line_(line), file_(file) {}

  bool null() override { return put({JsonKind::Null, line()}); }

  bool boolean(bool truth) override { return put({JsonKind::Bool, line(), truth}); }

  bool number_integer(number_integer_t number) override {
    return put_number(static_cast<double>(number), std::to_string(number));
  }

  bool number_unsigned(number_unsigned_t number) override {
    return put_number(static_cast<double>(number), std::to_string(number));
  }

  bool number_float(number_float_t number, const string_t& text) override {
    return put_number(number, text);
  }

  bool string(string_t& text) override {
    JsonNode node{JsonKind::Text, line()};
    node.text = std::move(text);
    return put(std::move(node));
  }

  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(JsonKind::Object); }

  bool end_object() override { return close(); }

  bool start_array(std::size_t) override { return open(JsonKind::Array); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    open_.back()->keys.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t,
                   const std::string& token,
                   const nlohmann::detail::exception&) override {
    fail("found '" + excerpt(token) +
         "', which JSON does not allow here; is the file cut or damaged?");
    return false;
  }

  Result<JsonNode> take() {
    if (error_) return *error_;
    return std::move(root_);
  }

 private:
  // Pointers to open nodes stay valid: a node grows only after its last child was closed.
  JsonNode* place() {
    if (open_.empty()) return &root_;
    return &open_.back()->items.emplace_back();
  }

  bool put(JsonNode node) {
    *place() = std::move(node);
    return true;
  }

  bool put_number(double number, std::string text) {
    if (!std::isfinite(number))
      return fail("found the number " + excerpt(text) + ", which is beyond what can be read");
    JsonNode node{JsonKind::Number, line(), false, number};
    node.text = std::move(text);
    return put(std::move(node));
  }

  bool open(JsonKind kind) {
    if (open_.size() >= kJsonDepthMax)
      return fail("is nested deeper than " + std::to_string(kJsonDepthMax) +
                  " levels, which no workload needs; is this the right file?");
    JsonNode* node = place();
    node->kind = kind;
    node->line = line();
    open_.push_back(node);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool fail(std::string message) {
    if (!error_) error_ = Error{ErrorCode::InvalidInput, file_, line(), "JSON", std::move(message)};
    return false;
  }

  int line() const { return static_cast<int>(line_); }

  const std::size_t& line_;
  const std::string& file_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::optional<Error> error_;
};

const std::vector<JsonNode>& no_items() {
  static const std::vector<JsonNode> none;
  return none;
}

std::string text_of(double number) {
  if (std::abs(number) < 1e15 && number == std::floor(number))
    return std::to_string(static_cast<std::int64_t>(number));
  JsonText json;
  return json.value(number).take();
}

std::string range_of(double low, double high, std::string_view what) {
  std::string text(what);
  text += " from " + text_of(low);
  if (high < 1e300) text += " to " + text_of(high);
  return text;
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  for (std::size_t i = keys.size(); i-- > 0;)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

std::string_view describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null:
      return "null";
    case JsonKind::Bool:
      return "true or false";
    case JsonKind::Number:
      return "a number";
    case JsonKind::Text:
      return "a string";
    case JsonKind::Array:
      return "an array";
    case JsonKind::Object:
      return "an object";
  }
  return "";
}

Result<JsonNode> parse_json(std::string_view text, const std::string& file, int first_line) {
  auto line = static_cast<std::size_t>(first_line);
  TreeBuilder builder(line, file);
  parse_json_lines(text, line, builder);
  return builder.take();
}

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (text.size() > 40) out += "...";
  return out;
}

std::string instead_of(const JsonNode& node, std::string_view need, std::string_view remedy) {
  std::string found;
  if (node.is(JsonKind::Number) || node.is(JsonKind::Text))
    found = "'" + excerpt(node.text) + "'";
  else if (node.is(JsonKind::Bool))
    found = node.truth ? "true" : "false";
  else
    found = describe(node.kind);
  return "is " + found + ", " + std::string(need) + " is needed; " + std::string(remedy);
}

void FileErrors::add(int line, std::string subject, std::string message) {
  if (errors_.size() >= kErrorsMax) {
    ++left_out_;
    return;
  }
  errors_.push_back({ErrorCode::InvalidInput, file_, line, std::move(subject), std::move(message)});
}

Errors FileErrors::take() {
  if (left_out_ > 0)
    errors_.push_back({ErrorCode::InvalidInput,
                       file_,
                       0,
                       "",
                       std::to_string(left_out_) +
                           " more things are wrong; mend these first and read the file again"});
  left_out_ = 0;
  return std::exchange(errors_, {});
}

JsonReader::JsonReader(const JsonNode& node, std::string subject, FileErrors& errors)
    : node_(node), subject_(std::move(subject)), errors_(errors) {
  if (!node.is(JsonKind::Object))
    errors_.add(node.line, subject_, instead_of(node, "an object", "write {...}"));
}

const JsonNode* JsonReader::find(std::string_view key) const {
  if (!node_.is(JsonKind::Object)) return nullptr;
  const JsonNode* node = node_.find(key);
  return node == nullptr || node->is(JsonKind::Null) ? nullptr : node;
}

void JsonReader::fail(std::string_view key, std::string message) const {
  const JsonNode* node = find(key);
  std::string subject = subject_;
  if (!key.empty()) subject += (subject.empty() ? "" : ": ") + std::string(key);
  errors_.add(node != nullptr ? node->line : node_.line, std::move(subject), std::move(message));
}

void JsonReader::missing(std::string_view key, std::string_view example) const {
  fail(key, "is missing, it is needed; add for example " + std::string(example));
}

bool JsonReader::number(std::string_view key, double& to, double low, double high) const {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  if (!node->is(JsonKind::Number) || node->number < low || node->number > high) {
    fail(key, instead_of(*node, range_of(low, high, "a number"), "correct it"));
    return false;
  }
  to = node->number;
  return true;
}

bool JsonReader::integer(std::string_view key,
                         std::int64_t& to,
                         std::int64_t low,
                         std::int64_t high) const {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  const bool whole = node->is(JsonKind::Number) && std::abs(node->number) < 9e15 &&
                     node->number == std::floor(node->number);
  if (!whole || node->number < static_cast<double>(low) ||
      node->number > static_cast<double>(high)) {
    fail(key,
         instead_of(*node,
                    range_of(static_cast<double>(low), static_cast<double>(high), "a whole number"),
                    "correct it"));
    return false;
  }
  to = static_cast<std::int64_t>(node->number);
  return true;
}

bool JsonReader::text(std::string_view key, std::string& to) const {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  if (!node->is(JsonKind::Text)) {
    fail(key, instead_of(*node, "a string", "put it in quotes"));
    return false;
  }
  to = node->text;
  return true;
}

bool JsonReader::truth(std::string_view key, bool& to) const {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  if (!node->is(JsonKind::Bool)) {
    fail(key, instead_of(*node, "true or false", "choose one"));
    return false;
  }
  to = node->truth;
  return true;
}

const std::vector<JsonNode>& JsonReader::items(std::string_view key) const {
  const JsonNode* node = find(key);
  if (node == nullptr) return no_items();
  if (node->is(JsonKind::Array)) return node->items;
  fail(key, instead_of(*node, "an array", "write [...]"));
  return no_items();
}

bool JsonReader::numbers(std::string_view key, std::vector<double>& to, double low) const {
  if (!has(key)) return false;
  std::vector<double> out;
  for (const JsonNode& item : items(key)) {
    if (!item.is(JsonKind::Number) || item.number < low) {
      errors_.add(item.line,
                  subject_ + ": " + std::string(key),
                  "its item " + std::to_string(out.size()) + " " +
                      instead_of(item, range_of(low, 1e308, "a number"), "correct it"));
      return false;
    }
    out.push_back(item.number);
  }
  if (!find(key)->is(JsonKind::Array)) return false;
  to = std::move(out);
  return true;
}

}  // namespace orrery::sim
