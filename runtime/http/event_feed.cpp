#include "runtime/http/event_feed.hpp"

#include <algorithm>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/number_text.hpp"
#include "core/base/utc_text.hpp"
#include "runtime/http/api.hpp"

namespace orrery::http {
namespace {

// A comment now and then shows both ends that the other one is there.
constexpr Duration kKeepAlive = Duration::seconds(15);

std::string event_id(std::uint64_t life, std::uint64_t number) {
  return std::to_string(life) + "." + std::to_string(number);
}

}  // namespace

std::string event_line_json(const runtime::EventLine& line, std::uint64_t life) {
  JsonText json;
  json.begin_object().field("id", event_id(life, line.number));
  json.field("number", line.number).field("at", line.at.ns);
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
  auto changes = control.follow_changes([weak, &control](JobId changed) {
    const auto self = weak.lock();
    if (!self || !changed.is_none()) return;
    self->executor_->post([self, &control] { self->look_who_leads(control); });
  });
  const std::lock_guard lock(mutex_);
  subscription_ = std::move(subscription);
  changes_ = std::move(changes);
}

void EventFeed::stop() {
  std::unique_ptr<runtime::Subscription> ended;
  std::unique_ptr<runtime::Subscription> changes;
  const std::lock_guard lock(mutex_);
  ended = std::move(subscription_);
  changes = std::move(changes_);
}

// Nothing more comes here once another controller leads: a client that asks anew is sent there.
void EventFeed::look_who_leads(runtime::ControlApi& control) {
  control.read([weak = weak_from_this()](const runtime::ControlView& view) {
    const auto self = weak.lock();
    if (self && !knows_jobs(view.facts)) self->executor_->post([self] { self->end_all(); });
  });
}

void EventFeed::end_all() {
  for (const Follower& follower : std::exchange(followers_, {})) follower.exchange->finish();
}

void EventFeed::add(const runtime::EventLine& line) {
  Line kept{line.number, line.job, event_line_json(line, life_)};
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
  if (dot == std::string_view::npos) {
    const std::optional<std::uint64_t> number = parsed_number<std::uint64_t>(id);
    if (!number) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return lines_.empty() || *number > lines_.back().number ? 0 : *number;
  }
  const std::optional<std::uint64_t> life = parsed_number<std::uint64_t>(id.substr(0, dot));
  const std::optional<std::uint64_t> line = parsed_number<std::uint64_t>(id.substr(dot + 1));
  if (!life || !line) return std::nullopt;
  return *life == life_ ? *line : 0;
}

std::string EventFeed::framed(const Line& line) const {
  return "id: " + event_id(life_, line.number) + "\nevent: event\ndata: " + line.json + "\n\n";
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
