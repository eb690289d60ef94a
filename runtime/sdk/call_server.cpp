#include "runtime/sdk/call_server.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <typeinfo>

namespace orrery::sdk::detail {
namespace {

constexpr std::size_t kThreadsMax = 64;
constexpr std::size_t kUnknownMax = 256;  // Connections that have not proven who they are.
constexpr Milliseconds kHandshakeLimit{10'000};
constexpr Milliseconds kLeaveLimit{2000};

std::string class_name(const std::exception& error) {
  const char* mangled = typeid(error).name();
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : mangled;
}

ErrorFields remote(const ServedCall& call, const std::string& type, const std::string& message) {
  ErrorFields out =
      error_fields("Remote", "method " + call.message.method + " threw " + type + ": " + message);
  out.details["class"] = type;
  out.details["trace"] = "";
  return out;
}

ErrorFields drained(const ServedCall& call) {
  return error_fields(
      "Cancelled",
      call.message.method + ": the worker is being drained; call again in the next generation");
}

ErrorFields result_too_large(const ServedCall& call, std::uint64_t bytes) {
  ErrorFields out =
      error_fields("TooLarge",
                   "the answer of " + call.message.method + ": found " + std::to_string(bytes) +
                       " bytes, needed at most " + std::to_string(call.message.result_max) +
                       "; let it answer less, or ask with a larger result_max");
  out.details["bytes"] = bytes;
  out.details["limit"] = call.message.result_max;
  return out;
}

}  // namespace

CallServer::CallServer(CalleeIdentity identity,
                       const std::string& address,
                       const std::string& pem_file,
                       const Membership& membership)
    : identity_(std::move(identity)),
      membership_(membership),
      channels_(
          [this](const ServedCallPtr& call, const Outcome& outcome) { finish(call, outcome); },
          [this](const ServedCallPtr& call, const std::optional<ErrorFields>& error) {
            drop_queued(call, error);
          }),
      pool_(std::make_unique<ThreadPool>(kThreadsMax)) {
  if (pem_file.empty() && !is_loopback(address))
    throw BadSettings({"ORRERY_CALL_ADDRESS: found " + address +
                       " without ORRERY_CALL_CERTIFICATE, needed encryption beyond one machine; "
                       "let the cluster have certificates, or use 127.0.0.1"});
  listening_ =
      Io::instance().listen(address, pem_file, kHandshakeLimit, [this](std::shared_ptr<Link> link) {
        on_link(std::move(link));
      });
}

CallServer::~CallServer() {
  end();
  listening_.reset();
  pool_.reset();
  // Answers leave before the process may end.
  const auto left = std::make_shared<std::promise<void>>();
  const std::future<void> all_left = left->get_future();
  run_on_io([this, &left] {
    const std::shared_ptr<void> token(nullptr, [left](void*) { left->set_value(); });
    for (const auto& connection : std::set(connections_)) connection->close_gently(token);
  });
  all_left.wait_for(kLeaveLimit);
  // Answers of methods that ended meanwhile are on their way to the I/O thread.
  run_on_io([] {});
}

void CallServer::add_method(MethodEntry entry) {
  const auto refuse = [&](const std::string& message) {
    throw BadSettings({"method " + entry.name + ": " + message});
  };
  if (entry.name.empty() || entry.name.starts_with("orrery."))
    refuse("found a name that is empty or begins with orrery., needed one of your own; rename it");
  if (!entry.options.parameters.empty() && !entry.takes_all &&
      entry.options.parameters.size() != entry.arity)
    refuse("found names of " + std::to_string(entry.options.parameters.size()) +
           " parameters, needed " + std::to_string(entry.arity) + "; name each of them");
  const std::scoped_lock lock(mutex_);
  const std::string name = entry.name;
  if (!methods_.emplace(name, std::move(entry)).second)
    throw BadSettings({"method " + name + ": found twice, needed it once; rename one"});
}

void CallServer::set_membership(const Membership& membership) {
  const std::scoped_lock lock(mutex_);
  membership_ = membership;
}

Value CallServer::present() const {
  const std::scoped_lock lock(mutex_);
  return {{"rank", membership_.rank},
          {"role_rank", membership_.role_rank},
          {"generation", membership_.generation}};
}

void CallServer::on_link(std::shared_ptr<Link> link) {
  const auto unknown = [](const auto& connection) { return !connection->is_known(); };
  if (std::ranges::count_if(connections_, unknown) >= static_cast<std::ptrdiff_t>(kUnknownMax))
    return link->close();
  const auto connection = std::make_shared<ServedConnection>(std::move(link), *this);
  connections_.insert(connection);
  connection->start();
}

void CallServer::on_end(ServedConnection& connection) {
  std::erase_if(claims_, [&](const auto& each) { return each.second.connection == &connection; });
  channels_.on_end(connection);
  std::erase_if(connections_, [&](const auto& each) { return each.get() == &connection; });
}

void CallServer::on_late_cancel(ServedConnection& connection, std::uint64_t id) {
  channels_.on_late_cancel(connection, id);
}

const MethodEntry* CallServer::find_method(const std::string& name, ErrorFields& error) {
  const std::scoped_lock lock(mutex_);
  if (const auto at = methods_.find(name); at != methods_.end()) return &at->second;
  std::string names;
  error.details["methods"] = Value::array();
  for (const auto& [each, entry] : methods_) {
    error.details["methods"].push_back(each);
    names.append(names.empty() ? "" : ", ").append(each);
  }
  error.type = "UnknownMethod";
  error.message = "found no method " + name.substr(0, 100) + ", needed one of " +
                  (names.empty() ? "none" : names) + "; register it, or correct the name";
  return nullptr;
}

void CallServer::on_call(const ServedCallPtr& call) {
  if (call->message.skipped > 0) {
    ErrorFields error =
        error_fields("TooLarge",
                     call->message.method + ": found " + std::to_string(call->message.skipped) +
                         " bytes of arguments, needed at most " +
                         std::to_string(identity_.message_max) + "; send less in one call");
    error.details["bytes"] = call->message.skipped;
    error.details["limit"] = identity_.message_max;
    return reply(call, error);
  }
  accept(call);
}

void CallServer::accept(const ServedCallPtr& call) {
  if (call->is_over) return;
  const bool is_own = call->message.method.starts_with("orrery.");
  const std::string key = OnceAnswers::key_of(*call);
  if (!key.empty()) {
    if (const Outcome* answer = once_.answer(key)) return reply(call, *answer);
    if (once_.join(key, call)) return;
  }
  if (is_ended()) return reply(call, drained(*call));
  if (!is_own) {
    ErrorFields unknown;
    call->method = find_method(call->message.method, unknown);
    if (call->method == nullptr) return reply(call, unknown);
    if (call->message.attempt > 0 && !call->method->options.idempotent)
      return reply(call,
                   error_fields("NotIdempotent",
                                "method " + call->message.method + ": found attempt " +
                                    std::to_string(call->message.attempt) +
                                    ", needed a method that may run twice; declare it idempotent, "
                                    "or call without retries"));
  }
  if (call->message.deadline_ms == 0)
    return reply(call, error_fields("Timeout", call->message.method + ": it came too late"));
  if (!key.empty()) once_.begin(key);
  if (is_own) return accept_own(call);
  queue(call);
}

void CallServer::queue(const ServedCallPtr& call) {
  call->on_abandoned = [this, weak = std::weak_ptr(call)] {
    if (const ServedCallPtr gone = weak.lock()) drop_queued(gone, std::nullopt);
  };
  call->timer = Io::instance().after(
      std::chrono::ceil<Milliseconds>(call->deadline - std::chrono::steady_clock::now()),
      [this, weak = std::weak_ptr(call)] {
        const ServedCallPtr late = weak.lock();
        if (!late) return;
        drop_queued(late,
                    error_fields("Timeout",
                                 late->message.method + ": its deadline passed before its turn"));
        // What runs is told, and its own answer will be dropped.
        if (const auto connection = late->connection.lock(); connection && !late->is_over)
          connection->answer(
              late->message.id,
              error_fields("Timeout", late->message.method + ": its deadline passed"));
        late->abandon();
      });
  if (call->method->options.concurrent) {
    pool_->run([this, call] { run(call); });
    return;
  }
  const std::scoped_lock lock(mutex_);
  queue_.push_back(call);
  changed_.notify_all();
}

/// A call that has not begun is taken out of the queue, and answered where there is an error.
void CallServer::drop_queued(const ServedCallPtr& call, const std::optional<ErrorFields>& error) {
  {
    const std::scoped_lock lock(mutex_);
    if (call->is_begun) return;
    call->is_begun = true;
    std::erase(queue_, call);
  }
  if (error) reply(call, *error);
  for (const ServedCallPtr& other : once_.forget(OnceAnswers::key_of(*call))) accept(other);
}

ServedCallPtr CallServer::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || nudged_ || !queue_.empty(); });
  if (ended_ || nudged_) {
    nudged_ = false;
    return nullptr;
  }
  ServedCallPtr out = std::move(queue_.front());
  queue_.pop_front();
  return out;
}

bool CallServer::has_next() {
  const std::scoped_lock lock(mutex_);
  return !queue_.empty();
}

void CallServer::nudge() {
  const std::scoped_lock lock(mutex_);
  nudged_ = true;
  changed_.notify_all();
}

bool CallServer::is_ended() {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

std::optional<ErrorFields> CallServer::why_not_run(const ServedCall& call) const {
  if (std::chrono::steady_clock::now() >= call.deadline)
    return error_fields("Timeout", call.message.method + ": its deadline passed before its turn");
  const std::scoped_lock lock(mutex_);
  const std::uint64_t is = membership_.generation;
  if (!call.message.generation || *call.message.generation == is) return std::nullopt;
  ErrorFields out = error_fields("GenerationChanged",
                                 call.message.method + ": found a call for generation " +
                                     std::to_string(*call.message.generation) +
                                     ", this worker is in generation " + std::to_string(is) +
                                     "; refresh the group and decide anew");
  out.details["was"] = *call.message.generation;
  out.details["is"] = is;
  return out;
}

void CallServer::run(const ServedCallPtr& call) {
  {
    const std::scoped_lock lock(mutex_);
    if (call->is_begun) return;  // Dropped meanwhile.
  }
  if (std::optional<ErrorFields> error = why_not_run(*call)) {
    Io::instance().post([this, call, error = std::move(*error)] { drop_queued(call, error); });
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (call->is_begun) return;
    call->is_begun = true;
    begun_.insert(call);
    if (ended_) Io::instance().post([call] { call->abandon(); });
  }
  Context context(call);
  Outcome outcome = outcome_of(*call, context);
  bool others_wait = false;
  {
    const std::scoped_lock lock(mutex_);
    begun_.erase(call);
    others_wait = !queue_.empty();
  }
  auto answer = [this, call, outcome = std::move(outcome)] { finish(call, outcome); };
  // While this thread goes on with the next call another one sends the answers, many at once.
  if (others_wait) return Io::instance().post(std::move(answer));
  Io::instance().perform(std::move(answer));
}

Outcome CallServer::outcome_of(const ServedCall& call, Context& context) {
  CallMessage& message = context.call().message;
  try {
    std::vector<Value> values =
        bind_arguments(*call.method, std::move(message.args), std::move(message.kwargs));
    Value result = call.method->run(context, std::move(values));
    if (call.method->streams && message.stream) return StreamEnd{};
    if (call.method->streams) {
      result = Value::array();
      for (Value& item : context.call().take_kept()) result.push_back(std::move(item));
    }
    std::shared_ptr<const WrittenValues> written = write_result(std::move(result));
    if (const std::uint64_t bytes = bytes_in(written->buffers); bytes > message.result_max)
      return result_too_large(call, bytes);
    return written;
  } catch (const BadArguments& error) {
    return error.fields();
  } catch (const Cancelled& error) {
    // Where the worker is drained a caller takes Cancelled for a call that was not begun, and may
    // make it again. A stream is never made again, and its consumer knows what it has had.
    if (call.message.stream && call.is_abandoned()) return error.fields();
    return remote(call, class_name(error), error.message());
  } catch (const TooLarge& error) {
    return error.fields();
  } catch (const std::exception& error) {
    return remote(call, class_name(error), error.what());
  } catch (...) {
    return remote(call, "unknown", "something that is no std::exception");
  }
}

void CallServer::finish(const ServedCallPtr& call, const Outcome& outcome) {
  reply(call, outcome);
  for (const ServedCallPtr& other : once_.finish(OnceAnswers::key_of(*call), outcome))
    reply(other, outcome);
}

void CallServer::reply(const ServedCallPtr& call, const Outcome& outcome) {
  call->on_abandoned = nullptr;
  call->timer.reset();
  const auto connection = call->connection.lock();
  if (!connection || call->is_over) return;
  connection->answer(call->message.id, outcome);
}

void CallServer::end() {
  run_on_io([this] {
    std::deque<ServedCallPtr> queued;
    std::set<ServedCallPtr> begun;
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
      queued = std::exchange(queue_, {});
      for (const ServedCallPtr& call : queued) call->is_begun = true;
      begun = begun_;
      changed_.notify_all();
    }
    for (const ServedCallPtr& call : queued) finish(call, drained(*call));
    for (const ServedCallPtr& call : begun) call->abandon();
    channels_.end();
  });
}

}  // namespace orrery::sdk::detail
