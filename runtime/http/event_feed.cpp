#include "runtime/http/event_feed.hpp"

#include <algorithm>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/number_text.hpp"
#include "core/base/utc_text.hpp"

namespace orrery::http {
namespace {

// A comment now and then shows both ends that the other one is there.
constexpr Duration kKeepAlive = Duration::seconds(15);

}  // namespace

std::string event_line_json(const runtime::EventLine& line) {
  JsonText json;
  json.begin_object().field("number", line.number).field("at", line.at.ns);
  json.field("at_utc", utc_text(line.at));
  json.field("job", line.job).field("node", line.node);
  json.field("severity", to_string(line.event.severity)).field("name", line.event.name);
  json.field("message", line.event.message).end_object();
  return json.take();
}

void EventFeed::start(runtime::ControlApi& control) {
  const std::weak_ptr<EventFeed> weak = weak_from_this();
  auto subscription = control.follow_events(kLinesMax, [weak](const runtime::EventLine& line) {
    if (const auto self = weak.lock()) self->add(line);
  });
  const std::lock_guard lock(mutex_);
  subscription_ = std::move(subscription);
}

void EventFeed::stop() {
  std::unique_ptr<runtime::Subscription> ended;
  const std::lock_guard lock(mutex_);
  ended = std::move(subscription_);
}

void EventFeed::add(const runtime::EventLine& line) {
  Line kept{line.number, line.job, event_line_json(line)};
  bool post = false;
  {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(kept));
    if (lines_.size() > kLinesMax) lines_.pop_front();
    post = !std::exchange(delivery_due_, true);
  }
  if (post) executor_->post([self = shared_from_this()] { self->deliver(); });
}

bool EventFeed::fits(const Line& line, const EventFilter& filter) {
  return line.number > filter.since && (filter.job.empty() || filter.job == line.job);
}

std::vector<std::string> EventFeed::latest(const EventFilter& filter, std::size_t limit) const {
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = lines_.size(); i-- > 0 && out.size() < limit;)
    if (fits(lines_[i], filter)) out.push_back(lines_[i].json);
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<std::uint64_t> EventFeed::number_of(std::string_view id) const {
  const std::size_t dot = id.find('.');
  if (dot == std::string_view::npos) return parsed_number<std::uint64_t>(id);
  const std::optional<std::uint64_t> life = parsed_number<std::uint64_t>(id.substr(0, dot));
  const std::optional<std::uint64_t> line = parsed_number<std::uint64_t>(id.substr(dot + 1));
  if (!life || !line) return std::nullopt;
  return *life == life_ ? *line : 0;
}

std::string EventFeed::framed(const Line& line) const {
  return "id: " + std::to_string(life_) + "." + std::to_string(line.number) +
         "\nevent: event\ndata: " + line.json + "\n\n";
}

void EventFeed::follow(std::shared_ptr<Exchange> exchange,
                       EventFilter filter,
                       std::size_t backlog) {
  {
    // Of what is there, only the latest `backlog` lines are new to the client.
    const std::lock_guard lock(mutex_);
    for (std::size_t i = lines_.size(); i-- > 0;) {
      if (!fits(lines_[i], filter)) continue;
      if (backlog-- > 0) continue;
      filter.since = lines_[i].number;
      break;
    }
  }
  Response head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-cache"}};
  head.body = ": follows\n\n";
  exchange->begin(std::move(head));
  followers_.push_back({std::move(exchange), std::move(filter)});
  send_new(followers_.back());
  if (timer_ == nullptr) keep_alive();
}

void EventFeed::send_new(Follower& follower) {
  std::string out;
  {
    const std::lock_guard lock(mutex_);
    auto first = lines_.end();
    while (first != lines_.begin() && std::prev(first)->number > follower.filter.since) --first;
    for (; first != lines_.end(); ++first)
      if (fits(*first, follower.filter)) out += framed(*first);
    if (!lines_.empty())
      follower.filter.since = std::max(follower.filter.since, lines_.back().number);
  }
  if (!out.empty()) follower.exchange->write(std::move(out));
}

void EventFeed::deliver() {
  {
    const std::lock_guard lock(mutex_);
    delivery_due_ = false;
  }
  std::erase_if(followers_, [](const Follower& f) { return !f.exchange->is_open(); });
  for (Follower& follower : followers_) send_new(follower);
}

void EventFeed::keep_alive() {
  std::erase_if(followers_, [](const Follower& f) { return !f.exchange->is_open(); });
  for (Follower& follower : followers_) follower.exchange->write(":\n\n");
  timer_ = followers_.empty() ? nullptr : executor_->after(kKeepAlive, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->keep_alive();
  });
}

}  // namespace orrery::http
