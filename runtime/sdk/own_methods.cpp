// What a worker answers itself: the methods whose names begin with `orrery.`.
#include <array>

#include "runtime/sdk/call_server.hpp"

namespace orrery::sdk::detail {
namespace {

std::shared_ptr<const WrittenValues> answer_with(Value value) {
  return write_result(std::move(value));
}

}  // namespace

Value CallServer::methods() {
  const std::scoped_lock lock(mutex_);
  Value out = Value::array();
  for (const auto& [name, entry] : methods_)
    out.push_back({{"name", name},
                   {"parameters", entry.options.parameters},
                   {"concurrent", entry.options.concurrent},
                   {"idempotent", entry.options.idempotent},
                   {"stream", entry.streams}});
  return out;
}

void CallServer::accept_own(const ServedCallPtr& call) {
  const std::string& name = call->message.method;
  if (name == "orrery.methods") return finish(call, answer_with(methods()));
  if (name == "orrery.ping") return finish(call, answer_with(present()));
  if (name == "orrery.claim") return claim(call);
  if (channels_.handles(name)) return channels_.handle(call);
  ErrorFields unknown;
  find_method(name, unknown);
  finish(call, unknown);
}

void CallServer::claim(const ServedCallPtr& call) {
  // Never destroyed: the I/O thread goes on while the program ends.
  static const auto& kClaim = *new MethodEntry{.name = "orrery.claim",
                                               .options = {.parameters = {"group"}},
                                               .arity = 1,
                                               .may_be_absent = {false}};
  std::string group;
  try {
    const std::vector<Value> values =
        bind_arguments(kClaim, std::move(call->message.args), std::move(call->message.kwargs));
    if (!values[0].is_string()) raise_unfit_argument(kClaim, 0, "found no text");
    group = values[0].get<std::string>();
  } catch (const BadArguments& error) {
    return finish(call, error.fields());
  }
  if (group != identity_.role)
    return finish(call,
                  error_fields("BadArguments",
                               "orrery.claim: found group " + group.substr(0, 100) +
                                   ", this worker is of role " + identity_.role +
                                   "; claim the workers of the role"));
  const auto connection = call->connection.lock();
  const auto held = claims_.find(group);
  if (held != claims_.end() && held->second.driver != call->caller) {
    ErrorFields error = error_fields("SecondDriver",
                                     "group " + group + ": found driver " + held->second.driver +
                                         ", which holds it while it is connected; let that one "
                                         "end, or call workers by role and instance");
    error.details["driver"] = held->second.driver;
    return finish(call, error);
  }
  claims_[group] = {call->caller, connection.get()};
  finish(call, answer_with(nullptr));
}

}  // namespace orrery::sdk::detail
