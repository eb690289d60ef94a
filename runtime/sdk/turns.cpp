#include "runtime/sdk/turns.hpp"

#include <algorithm>
#include <iostream>

#include "runtime/sdk/agent_connection.hpp"
#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/turn.hpp"

namespace orrery::sdk {
namespace detail {
namespace {

constexpr std::string_view kNotHeld = "turn: this worker does not have the turn";

std::string line_of(const char* word) { return Value{{"turn", {{"word", word}}}}.dump(); }

std::string ask_line(const Wish& wish) {
  const double lease_s = static_cast<double>(wish.lease.count()) / 1000;
  return Value{{"turn", {{"word", "ask"}, {"lease_s", lease_s}}}}.dump();
}

}  // namespace

std::shared_ptr<Wish> Turns::take(Milliseconds lease, Milliseconds deadline) {
  const auto wish = std::make_shared<Wish>();
  wish->lease = lease;
  {
    const std::scoped_lock lock(mutex_);
    if (is_taken_)
      throw BadArguments(
          "found a turn that this worker has or waits for already, one at a time is possible; "
          "leave the first one before");
    is_taken_ = true;
  }
  Io::instance().post([self = shared_from_this(), wish] { self->ask(wish); });
  std::string refusal;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(
        lock, from_now(deadline), [&] { return wish->is_granted || !wish->refusal.empty(); });
    if (wish->is_granted) return wish;
    refusal = wish->refusal;
  }
  release(wish);
  if (!refusal.empty()) throw BadArguments(refusal);
  raise(error_fields("Timeout",
                     "found the devices still in use by another worker of the job after " +
                         std::to_string(deadline.count()) +
                         " ms, needed the turn; wait longer, or let the other leave its turn "
                         "earlier"));
}

void Turns::release(const std::shared_ptr<Wish>& wish) {
  {
    const std::scoped_lock lock(mutex_);
    is_taken_ = false;
  }
  Io::instance().post([self = shared_from_this(), wish] { self->give_back(wish); });
}

std::string Turns::greeting() {
  unanswered_ = wish_ ? 1 : 0;
  fences_ = 0;
  if (wish_) return ask_line(*wish_) + "\n";
  // The release may have been lost with the connection.
  return has_asked_ ? line_of("release") + "\n" : std::string();
}

void Turns::granted() {
  if (fences_ > 0) return;
  unanswered_ = std::max(0, unanswered_ - 1);
  if (!wish_) return;
  {
    const std::scoped_lock lock(mutex_);
    if (wish_->is_granted) return;  // Again, after a restart of the agent.
    wish_->is_granted = true;
    changed_.notify_all();
  }
  renewal_ = Io::instance().after(wish_->lease / 3, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->renew();
  });
}

void Turns::refused(std::string_view why) {
  if (fences_ > 0) {
    if (why.starts_with(kNotHeld)) --fences_;
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (!wish_ || wish_->is_granted) {
    std::cerr << "the agent says " << why << std::endl;
    return;
  }
  unanswered_ = 0;
  wish_->refusal = why;
  changed_.notify_all();
}

void Turns::ask(const std::shared_ptr<Wish>& wish) {
  wish_ = wish;
  has_asked_ = true;
  if (say(ask_line(*wish))) ++unanswered_;
}

void Turns::give_back(const std::shared_ptr<Wish>& wish) {
  if (wish_ != wish) return;
  wish_.reset();
  renewal_.reset();
  if (!say(line_of("release")) || unanswered_ == 0) return;
  // A grant may be on its way that the next ask must not take for its own. What comes before the
  // refusal of this renewal is older than the release.
  unanswered_ = 0;
  if (say(line_of("renew"))) ++fences_;
}

void Turns::renew() {
  if (!wish_) return;
  say(line_of("renew"));
  renewal_ = Io::instance().after(wish_->lease / 3, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->renew();
  });
}

/// Whether there is an agent to say it to; else the next greeting says what holds then.
bool Turns::say(const std::string& word) {
  const auto agent = agent_.lock();
  return agent && agent->say_now(word);
}

}  // namespace detail

Turn::Turn(std::shared_ptr<detail::Turns> turns, std::shared_ptr<detail::Wish> wish)
    : turns_(std::move(turns)), wish_(std::move(wish)) {}

Turn& Turn::operator=(Turn&& other) noexcept {
  if (this == &other) return *this;
  release();
  turns_ = std::move(other.turns_);
  wish_ = std::move(other.wish_);
  return *this;
}

Turn::~Turn() { release(); }

void Turn::release() {
  if (const auto turns = std::exchange(turns_, nullptr))
    turns->release(std::exchange(wish_, nullptr));
}

}  // namespace orrery::sdk
