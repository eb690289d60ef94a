#include "runtime/sdk/agent_connection.hpp"

#include <iostream>

#include "runtime/sdk/environment.hpp"
#include "runtime/sdk/turns.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr std::size_t kUnsentMax = 64;
// As long as a message of the controller may be, whose membership an agent passes on.
constexpr std::size_t kLineMax = 4 << 20;
constexpr Milliseconds kReconnect{200};

}  // namespace

AgentConnection::AgentConnection(std::string socket,
                                 std::string greeting,
                                 std::function<void(const Membership&)> on_membership,
                                 std::shared_ptr<Turns> turns)
    : socket_(std::move(socket)),
      greeting_(std::move(greeting)),
      on_membership_(std::move(on_membership)),
      turns_(std::move(turns)) {}

void AgentConnection::start() {
  Io::instance().post([self = shared_from_this()] {
    self->turns_->speak_by(self);
    self->connect();
  });
}

void AgentConnection::connect() {
  if (closed_) return;
  ConnectTo to;
  to.unix_path = socket_;
  Io::instance().connect(std::move(to), [self = shared_from_this()](Connected connected) {
    self->on_connected(std::move(connected));
  });
}

void AgentConnection::on_connected(Connected connected) {
  if (closed_ || !connected.link) {
    if (connected.link) connected.link->close();
    return lose();
  }
  link_ = std::move(connected.link);
  unread_.clear();
  out_ = greeting_ + turns_->greeting();
  {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    for (const std::string& line : kept_) out_ += line;
  }
  write();
  read();
}

void AgentConnection::lose() {
  if (link_) link_->close();
  link_.reset();
  if (closed_) return;
  retry_ = Io::instance().after(kReconnect, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

void AgentConnection::read() {
  link_->read_some(
      std::span<std::uint8_t>(in_),
      [self = shared_from_this(), link = link_](const IoResult& result) {
        if (link != self->link_) return;
        if (!result.failure.empty() || result.size == 0) return self->lose();
        self->unread_.append(reinterpret_cast<const char*>(self->in_.data()), result.size);
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = self->unread_.find('\n', begin)) != std::string::npos;
             begin = end + 1)
          self->hear(std::string_view(self->unread_).substr(begin, end - begin));
        self->unread_.erase(0, begin);
        if (self->unread_.size() > kLineMax) return self->lose();
        if (self->link_) self->read();
      });
}

void AgentConnection::write() {
  {
    const std::scoped_lock lock(mutex_);
    if (writing_ || !link_) return;
    for (; !unsent_.empty(); unsent_.pop_front()) out_.append(unsent_.front()).append("\n");
    writing_ = !out_.empty();
    if (!writing_) return flushed_.notify_all();
  }
  const auto text = std::make_shared<const std::string>(std::exchange(out_, {}));
  const ByteView bytes(reinterpret_cast<const std::uint8_t*>(text->data()), text->size());
  link_->write_all({bytes},
                   [self = shared_from_this(), link = link_, text](const IoResult& result) {
                     if (link != self->link_) return;
                     // Still to be written for who waits in `flush`: what is kept is said anew.
                     if (!result.failure.empty()) return self->lose();
                     {
                       const std::scoped_lock lock(self->mutex_);
                       self->writing_ = false;
                     }
                     self->write();
                   });
}

void AgentConnection::hear(std::string_view line) {
  if (line.empty()) return;
  if (const std::optional<Membership> membership = membership_in(line)) {
    if (on_membership_) on_membership_(*membership);
    return;
  }
  const Value said = Value::parse(line, nullptr, false);
  if (!said.is_object()) return;
  if (said.contains("turn")) return turns_->granted();
  const auto error = said.find("error");
  if (error == said.end()) return;
  if (error->is_string() && error->get_ref<const std::string&>().starts_with("turn: "))
    return turns_->refused(error->get_ref<const std::string&>());
  std::cerr << "the agent says " << line << std::endl;
}

void AgentConnection::say(std::string line) {
  {
    const std::scoped_lock lock(mutex_);
    if (unsent_.size() >= kUnsentMax) unsent_.pop_front();
    unsent_.push_back(std::move(line));
  }
  Io::instance().post([self = shared_from_this()] { self->write(); });
}

void AgentConnection::keep_saying(Kept what, std::string line) {
  {
    const std::scoped_lock lock(mutex_);
    kept_[static_cast<std::size_t>(what)] = line + "\n";
  }
  say(std::move(line));
}

void AgentConnection::stop_saying(Kept what) {
  const std::scoped_lock lock(mutex_);
  kept_[static_cast<std::size_t>(what)].clear();
}

bool AgentConnection::say_now(std::string line) {
  if (!link_) return false;
  out_ += std::move(line) + "\n";
  write();
  return true;
}

void AgentConnection::flush(Milliseconds time) {
  run_on_io([] {});  // What was posted before has been said by then.
  std::unique_lock lock(mutex_);
  flushed_.wait_for(lock, time, [this] { return unsent_.empty() && !writing_; });
}

void AgentConnection::close() {
  run_on_io([this] {
    closed_ = true;
    on_membership_ = nullptr;
    retry_.reset();
    lose();
  });
}

}  // namespace orrery::sdk::detail
