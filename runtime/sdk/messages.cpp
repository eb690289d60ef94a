#include "runtime/sdk/messages.hpp"

#include <array>

#include "runtime/sdk/buffer_memory.hpp"

namespace orrery::sdk {
namespace {

/// Fields of one header; the first broken rule is kept.
class Fields {
 public:
  Fields(Frame frame, std::string& why) : frame_(std::move(frame)), why_(why) {}

  std::string text(const char* name, std::size_t size_max = 64 << 10) {
    const auto at = frame_.header.find(name);
    if (at == frame_.header.end() || !at->is_string() ||
        at->get_ref<const std::string&>().size() > size_max)
      return fail(name, "a text of at most " + std::to_string(size_max) + " bytes"), std::string();
    return std::move(at->get_ref<std::string&>());
  }

  std::uint64_t whole(const char* name) {
    const auto at = frame_.header.find(name);
    if (at == frame_.header.end() || !at->is_number_unsigned())
      return fail(name, "a whole number that is not negative"), 0;
    return at->get<std::uint64_t>();
  }

  std::int64_t integer(const char* name) {
    const auto at = frame_.header.find(name);
    if (at == frame_.header.end() || !at->is_number_integer()) return fail(name, "an integer"), 0;
    return at->get<std::int64_t>();
  }

  bool has(const char* name) const {
    const auto at = frame_.header.find(name);
    return at != frame_.header.end() && !at->is_null();
  }

  bool flag(const char* name) {
    if (!has(name)) return false;
    if (!frame_.header[name].is_boolean()) return fail(name, "true or false"), false;
    return frame_.header[name].get<bool>();
  }

  ErrorFields error() {
    if (!has("error") || !frame_.header["error"].is_object())
      return fail("error", "an object"), ErrorFields{};
    return detail::error_from(frame_.header["error"]);
  }

  /// A value with its buffers in place; those that were skipped are not there.
  Value value(const char* name) {
    const auto at = frame_.header.find(name);
    if (at == frame_.header.end()) return fail(name, "a value"), Value();
    if (frame_.skipped > 0) return {};
    if (placed_.size() != frame_.buffers.size()) placed_.resize(frame_.buffers.size());
    std::string why;
    if (!place_buffers(*at, frame_.buffers, placed_, why) && why_.empty()) why_ = std::move(why);
    return std::move(*at);
  }

  Value value_of_kind(const char* name, Value otherwise) {
    const Value::value_t kind = otherwise.type();
    if (!frame_.header.contains(name)) return fail(name, "it"), otherwise;
    if (frame_.header[name].type() != kind)
      return fail(name, kind == Value::value_t::array ? "a list" : "an object"), otherwise;
    Value out = value(name);
    return out.type() == kind ? std::move(out) : std::move(otherwise);
  }

  std::uint64_t skipped() const { return frame_.skipped; }

  bool good() const { return why_.empty(); }

 private:
  void fail(const char* name, const std::string& needed) {
    if (why_.empty())
      why_ = std::string("field ") + name + ": found " +
             (frame_.header.contains(name) ? "something else" : "nothing") + ", needed " + needed;
  }

  Frame frame_;
  std::string& why_;
  std::vector<bool> placed_;
};

FromCaller read_hello(Fields& fields) {
  return HelloMessage{fields.integer("protocol"),
                      fields.text("caller", 256),
                      fields.text("to", 256),
                      fields.text("nonce", 32)};
}

FromCaller read_proof(Fields& fields) { return ProofMessage{fields.text("proof", 64)}; }

FromCaller read_call(Fields& fields) {
  CallMessage out;
  out.id = fields.whole("id");
  out.method = fields.text("method", 1024);
  out.args = fields.value_of_kind("args", Value::array());
  out.kwargs = fields.value_of_kind("kwargs", Value::object());
  out.deadline_ms = fields.whole("deadline_ms");
  if (fields.has("generation")) out.generation = fields.whole("generation");
  if (fields.has("once")) out.once = fields.text("once", kOnceMax);
  if (fields.has("attempt")) out.attempt = fields.whole("attempt");
  out.stream = fields.flag("stream");
  if (fields.has("credit")) out.credit = fields.whole("credit");
  if (fields.has("result_max")) out.result_max = fields.whole("result_max");
  out.skipped = fields.skipped();
  return out;
}

FromCaller read_credit(Fields& fields) {
  return CreditMessage{fields.whole("id"), fields.whole("count")};
}

FromCaller read_cancel(Fields& fields) { return CancelMessage{fields.whole("id")}; }

FromCallee read_challenge(Fields& fields) {
  return ChallengeMessage{fields.text("nonce", 32), fields.text("proof", 64)};
}

FromCallee read_welcome(Fields& fields) {
  return WelcomeMessage{fields.text("worker", 256),
                        fields.text("role", 256),
                        fields.integer("rank"),
                        fields.integer("role_rank"),
                        fields.whole("generation"),
                        fields.whole("message_max")};
}

FromCallee read_refused(Fields& fields) { return RefusedMessage{fields.error()}; }

FromCallee read_result(Fields& fields) {
  return ResultMessage{fields.whole("id"), fields.value("value"), fields.skipped()};
}

FromCallee read_item(Fields& fields) {
  return ItemMessage{fields.whole("id"), fields.value("value"), fields.skipped()};
}

FromCallee read_end(Fields& fields) { return EndMessage{fields.whole("id")}; }

FromCallee read_error(Fields& fields) { return ErrorMessage{fields.whole("id"), fields.error()}; }

template <class Message>
struct MessageType {
  std::string_view name;
  Message (*read)(Fields&);
};

constexpr std::array<MessageType<FromCaller>, 5> kFromCaller{{{"call", read_call},
                                                              {"credit", read_credit},
                                                              {"cancel", read_cancel},
                                                              {"hello", read_hello},
                                                              {"proof", read_proof}}};

constexpr std::array<MessageType<FromCallee>, 7> kFromCallee{{{"result", read_result},
                                                              {"item", read_item},
                                                              {"end", read_end},
                                                              {"error", read_error},
                                                              {"challenge", read_challenge},
                                                              {"welcome", read_welcome},
                                                              {"refused", read_refused}}};

template <class Message, std::size_t kCount>
std::optional<Message> read_message(const std::array<MessageType<Message>, kCount>& types,
                                    Frame frame,
                                    std::string& why) {
  why.clear();
  const auto at = frame.header.find("t");
  const std::string name =
      at != frame.header.end() && at->is_string() ? at->get<std::string>() : "";
  for (const MessageType<Message>& type : types) {
    if (type.name != name) continue;
    Fields fields(std::move(frame), why);
    Message out = type.read(fields);
    if (!fields.good()) {
      why = name + ": " + why;
      return std::nullopt;
    }
    return out;
  }
  why = "found a message \"" + name.substr(0, 100) + "\", which this side does not take";
  return std::nullopt;
}

/// Values and the text made of them, which points into them.
struct HeldValues {
  detail::OwnedValue first{nullptr};
  detail::OwnedValue second{nullptr};
  WrittenValues written;
};

std::shared_ptr<const WrittenValues> finish(const std::shared_ptr<HeldValues>& held) {
  held->written.fields += buffers_field(held->written.buffers);
  return {held, &held->written};
}

}  // namespace

std::optional<FromCaller> caller_message(Frame frame, std::string& why) {
  return read_message(kFromCaller, std::move(frame), why);
}

std::optional<FromCallee> callee_message(Frame frame, std::string& why) {
  return read_message(kFromCallee, std::move(frame), why);
}

std::shared_ptr<const WrittenValues> write_arguments(Value args, Value kwargs) {
  const auto held = std::make_shared<HeldValues>();
  held->first.value = std::move(args);
  held->second.value = std::move(kwargs);
  WrittenValues& out = held->written;
  out.fields = R"("args":)";
  write_value(held->first.value, "arguments", out.fields, out.buffers);
  out.fields += R"(,"kwargs":)";
  write_value(held->second.value, "named arguments", out.fields, out.buffers);
  return finish(held);
}

std::shared_ptr<const WrittenValues> write_result(Value value) {
  const auto held = std::make_shared<HeldValues>();
  held->first.value = std::move(value);
  held->written.fields = R"("value":)";
  write_value(held->first.value, "answer", held->written.fields, held->written.buffers);
  return finish(held);
}

std::string quoted_text(std::string_view text) {
  return Value(text).dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace orrery::sdk
