#include "runtime/sdk/value_text.hpp"

#include <cmath>

#include "runtime/sdk/errors.hpp"

namespace orrery::sdk {
namespace {

/// Writes one value; throws what does not travel.
class ValueWriter {
 public:
  ValueWriter(std::string_view place, std::string& text, std::vector<ByteView>& buffers)
      : place_(place), text_(text), buffers_(buffers) {}

  void write(const Value& value, int depth) {
    if (depth > kDepthMax)
      refuse("found more than " + std::to_string(kDepthMax) +
             " levels of lists and objects; send it flatter, or as a buffer");
    switch (value.type()) {
      case Value::value_t::object:
        return write_object(value, depth);
      case Value::value_t::array:
        return write_list(value, depth);
      case Value::value_t::binary:
        text_ += R"({"$buffer":)" + std::to_string(buffers_.size()) + "}";
        buffers_.emplace_back(value.get_binary());
        return;
      case Value::value_t::number_float:
        if (!std::isfinite(value.get<double>()))
          refuse("found a number that is not finite, needed finite ones; send null instead");
        break;
      case Value::value_t::discarded:
        refuse("found a value that could not be parsed; parse it again");
      default:
        break;
    }
    write_leaf(value);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw BadArguments(std::string(place_) + ": " + message);
  }

  void write_leaf(const Value& value) {
    try {
      text_ += value.dump();
    } catch (const Value::type_error&) {
      refuse("found text that is not UTF-8; send it as a buffer");
    }
  }

  void write_object(const Value& value, int depth) {
    text_ += '{';
    bool is_first = true;
    for (const auto& [key, member] : value.items()) {
      if (key.starts_with('$'))
        refuse("found the key \"" + key + "\", needed keys that do not begin with $; rename it");
      if (!is_first) text_ += ',';
      is_first = false;
      write_leaf(Value(key));
      text_ += ':';
      write(member, depth + 1);
    }
    text_ += '}';
  }

  void write_list(const Value& value, int depth) {
    text_ += '[';
    bool is_first = true;
    for (const Value& element : value) {
      if (!is_first) text_ += ',';
      is_first = false;
      write(element, depth + 1);
    }
    text_ += ']';
  }

  std::string_view place_;
  std::string& text_;
  std::vector<ByteView>& buffers_;
};

/// Builds a value from the events of the parser, and refuses what the protocol has not.
class HeaderBuilder {
 public:
  bool null() { return add(nullptr); }

  bool boolean(bool truth) { return add(truth); }

  bool number_integer(std::int64_t number) { return add(number); }

  bool number_unsigned(std::uint64_t number) { return add(number); }

  bool number_float(double number, const std::string& digits) {
    // The parser makes a double of an integer that is too long.
    if (digits.find_first_of(".eE") == std::string::npos)
      return fail("found the integer " + digits.substr(0, 40) + ", which is beyond 64 bits");
    return add(number);
  }

  bool string(std::string& text) { return add(std::move(text)); }

  bool binary(Value::binary_t&) { return fail("found binary data in a text"); }

  bool start_object(std::size_t) { return open(Value::object()); }

  bool start_array(std::size_t) { return open(Value::array()); }

  bool end_object() { return close(); }

  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (stack_.back()->contains(name))
      return fail("found the key \"" + name.substr(0, 100) + "\" twice");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const Value::exception&) {
    return why_.empty() ? fail("found what is no JSON at byte " + std::to_string(at)) : false;
  }

  Value& root() { return root_; }

  const std::string& why() const { return why_; }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  Value* put(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Value& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  template <class T>
  bool add(T&& leaf) {
    put(Value(std::forward<T>(leaf)));
    return true;
  }

  // A parent does not grow while a child is open, so pointers stay good.
  bool open(Value value) {
    if (stack_.size() >= static_cast<std::size_t>(kDepthMax) +
                             4)  // The header, its field and a list around the value.
      return fail("found more than " + std::to_string(kDepthMax) + " levels");
    stack_.push_back(put(std::move(value)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  Value root_;
  std::vector<Value*> stack_;
  std::string key_;
  std::string why_;
};

}  // namespace

void write_value(const Value& value,
                 std::string_view place,
                 std::string& text,
                 std::vector<ByteView>& buffers) {
  ValueWriter(place, text, buffers).write(value, 0);
}

std::optional<Value> read_header(std::string_view text, std::string& why) {
  HeaderBuilder builder;
  if (!Value::sax_parse(text, &builder)) {
    why = builder.why().empty() ? "found what is no JSON" : builder.why();
    return std::nullopt;
  }
  if (!builder.root().is_object()) {
    why = "found a header that is no object";
    return std::nullopt;
  }
  return std::move(builder.root());
}

bool place_buffers(Value& value,
                   std::vector<std::vector<std::uint8_t>>& buffers,
                   std::vector<bool>& placed,
                   std::string& why) {
  if (value.is_array()) {
    for (Value& element : value)
      if (!place_buffers(element, buffers, placed, why)) return false;
    return true;
  }
  if (!value.is_object()) return true;
  const auto mark = value.find("$buffer");
  if (mark == value.end()) {
    for (auto& [key, member] : value.items()) {
      if (key.starts_with('$')) {
        why = "found the key \"" + key.substr(0, 100) + "\", which begins with $";
        return false;
      }
      if (!place_buffers(member, buffers, placed, why)) return false;
    }
    return true;
  }
  const bool is_index = value.size() == 1 && mark->is_number_unsigned();
  const std::uint64_t index = is_index ? mark->get<std::uint64_t>() : buffers.size();
  if (index >= buffers.size()) {
    why = "found a $buffer that names none of the " + std::to_string(buffers.size()) + " buffers";
    return false;
  }
  if (placed[index]) {
    why = "found buffer " + std::to_string(index) + " at two places";
    return false;
  }
  placed[index] = true;
  value = Value::binary(std::move(buffers[index]));
  return true;
}

}  // namespace orrery::sdk
