#include "runtime/controller/controller_daemon.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "core/base/error_text.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kLinesKept = 10'000;
// Under load the inbox is emptied so often at most: thousands of heartbeats a second come one by
// one, and waking for each costs more than handling it. A message after a quiet time is handled at
// once.
constexpr auto kBetweenSweeps = std::chrono::milliseconds(2);

// Epochs that nodes were believed to have heard of, where the journal had not.
constexpr int kLeapsMax = 100;

constexpr auto kStoreRetry = std::chrono::milliseconds(500);
constexpr auto kCampaignRetry = std::chrono::milliseconds(500);

constexpr const char* kJobsRunOn =
    "the journal cannot be written, jobs run on and nothing new is taken: ";
// Then it renews no leases.
constexpr const char* kMayBeDeposed =
    "the journal cannot be written, and this controller is not certain that it still leads: ";

/// A subscription that begins on another thread, some time later.
class LateSubscription final : public Subscription {
 public:
  struct Place {
    std::mutex mutex;
    bool ended = false;
    std::unique_ptr<Subscription> inner;
  };

  explicit LateSubscription(std::shared_ptr<Place> place) : place_(std::move(place)) {}

  ~LateSubscription() override {
    std::unique_ptr<Subscription> inner;
    const std::lock_guard lock(place_->mutex);
    place_->ended = true;
    inner = std::move(place_->inner);
  }

 private:
  std::shared_ptr<Place> place_;
};

/// Answers unless it is destroyed first, and then says so: no caller waits for ever.
class Answer {
 public:
  explicit Answer(std::function<void(const RequestOutcome&)> done) : done_(std::move(done)) {}

  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  ~Answer() {
    if (done_)
      done_({RequestOutcome::Kind::Unavailable, JobId::none(), "the controller is closing"});
  }

  std::function<void(const RequestOutcome&)> take() { return std::exchange(done_, nullptr); }

 private:
  std::function<void(const RequestOutcome&)> done_;
};

}  // namespace

Result<std::unique_ptr<ControllerDaemon>> ControllerDaemon::start(ControllerParts parts) {
  std::unique_ptr<ControllerDaemon> daemon(new ControllerDaemon(std::move(parts)));
  Result<std::unique_ptr<LinkServer>> server = daemon->parts_.listen(*daemon);
  if (!server) return server.errors();
  daemon->server_ = std::move(server).value();
  daemon->thread_ = std::thread([raw = daemon.get()] { raw->live(); });
  return daemon;
}

ControllerDaemon::ControllerDaemon(ControllerParts parts)
    : parts_(std::move(parts)), lines_(kLinesKept), started_(JournalClock::wall()) {
  election_ = parts_.election([this](const Errors& why) {
    tasks_.post([this, text = text_of(why)] { end_term(Admission::Following, text); });
  });
}

ControllerDaemon::~ControllerDaemon() {
  tasks_.post([this] { stopping_ = true; });
  if (thread_.joinable()) thread_.join();
  tasks_.close();
  campaign_ = {};  // Asks it to stop, and waits.
  server_.reset();
}

// --- any thread ---

void ControllerDaemon::on_open(LinkId link, const Peer& peer) {
  tasks_.post([this, link, peer] {
    ++links_opened_;
    peers_[link.value] = peer;
    without_hello_[link.value] =
        TaskQueue::Clock::now() + std::chrono::nanoseconds(parts_.config.hello_within.ns);
  });
}

void ControllerDaemon::on_messages(LinkId link, std::vector<AgentMessage> messages) {
  messages_in_ += messages.size();
  tasks_.post([this, link, messages = std::move(messages)]() mutable {
    const auto peer = peers_.find(link.value);
    if (peer == peers_.end() || !says_hello(link, messages)) return;
    if (!term_) {
      server_->send(link, Refusal{"this controller does not lead: " + why(), true, {}});
      return server_->close(link, "this controller does not lead");
    }
    for (AgentMessage& message : messages) term_->heard(link, peer->second, std::move(message));
  });
}

void ControllerDaemon::on_closed(LinkId link, const std::string&) {
  tasks_.post([this, link] {
    peers_.erase(link.value);
    without_hello_.erase(link.value);
    if (term_) term_->closed(link);
  });
}

void ControllerDaemon::advertise(std::string url) {
  tasks_.post([this, url = std::move(url)] { parts_.config.advertised_url = url; });
}

void ControllerDaemon::read(std::function<void(const ControlView&)> look) {
  tasks_.post([this, look = std::move(look)] {
    static const State kNothing;
    const ControllerFacts known = facts();
    if (term_)
      look({term_->state(),
            known,
            term_->node_facts(),
            term_->journal_now(),
            &term_->credentials()});
    else
      look({kNothing, known, {}, JournalClock::wall()});
  });
}

void ControllerDaemon::ask(EventBody request, std::function<void(const RequestOutcome&)> done) {
  const auto answer = std::make_shared<Answer>(std::move(done));
  tasks_.post([this, request = std::move(request), answer]() mutable {
    // A term that is not established yet decides nothing before it is.
    if (term_ && !term_->is_halted()) return term_->ask(std::move(request), answer->take());
    answer->take()({RequestOutcome::Kind::Unavailable, JobId::none(), why()});
  });
}

void ControllerDaemon::when_durable(std::function<void(const RequestOutcome&)> done) {
  const auto answer = std::make_shared<Answer>(std::move(done));
  tasks_.post([this, answer] {
    if (term_ && !term_->is_halted()) return term_->when_durable(answer->take());
    answer->take()({RequestOutcome::Kind::Unavailable, JobId::none(), why()});
  });
}

std::unique_ptr<Subscription> ControllerDaemon::follow_events(
    std::size_t backlog, std::function<void(const EventLine&)> told) {
  return lines_.follow(backlog, std::move(told));
}

std::unique_ptr<Subscription> ControllerDaemon::follow_changes(std::function<void(JobId)> changed) {
  return changes_.add(std::move(changed));
}

std::unique_ptr<Subscription> ControllerDaemon::read_log(
    const LogQuery& query, std::function<void(const LogPiece&)> told) {
  const auto place = std::make_shared<LateSubscription::Place>();
  tasks_.post([this, query, place, told = std::move(told)] {
    const std::unique_lock lock(place->mutex);
    if (place->ended) return;
    if (term_)
      place->inner = term_->read_log(query, told);
    else
      told({.last = true, .error = why(), .passing = true});
  });
  return std::make_unique<LateSubscription>(place);
}

// --- the core thread ---

void ControllerDaemon::live() {
  campaign();
  std::vector<TaskQueue::Task> tasks;
  TaskQueue::Clock::time_point swept;
  while (!stopping_) {
    tasks.clear();
    tasks_.take(next_wake(), tasks);
    const bool has_oldest = !tasks.empty();
    const TaskQueue::Clock::time_point oldest = tasks_.oldest();
    const auto earliest = swept + kBetweenSweeps;
    if (TaskQueue::Clock::now() < earliest) {
      std::this_thread::sleep_until(earliest);
      tasks_.take(earliest, tasks);
    }
    swept = TaskQueue::Clock::now();
    if (has_oldest) inbox_wait_.add(std::chrono::duration<double>(swept - oldest).count());
    for (TaskQueue::Task& task : tasks) task();
    end_without_hello();
    if (try_again_at_ && TaskQueue::Clock::now() >= *try_again_at_) try_again();
    if (next_term_) look_at_next_term();
    if (!term_) continue;
    term_->work();
    look_at_term();
  }
  admission_ = Admission::Closing;
  if (term_ && !term_->is_halted() && term_->flush() && parts_.say)
    parts_.say("led " + term_->orders_text());
  server_->stop_accepting();
  next_term_.reset();
  term_.reset();
  store_.reset();
  if (leadership_) (void)election_->resign();
}

TaskQueue::Clock::time_point ControllerDaemon::next_wake() {
  TaskQueue::Clock::time_point wake = try_again_at_.value_or(TaskQueue::Clock::time_point::max());
  if (term_) wake = std::min(wake, term_->next_wake());
  if (next_term_) wake = std::min(wake, next_term_->next_wake());
  if (!without_hello_.empty()) wake = std::min(wake, without_hello_.begin()->second);
  return wake;
}

// The first word of a stream is hello; one that says anything else is ended.
bool ControllerDaemon::says_hello(LinkId link, const std::vector<AgentMessage>& messages) {
  if (!without_hello_.contains(link.value)) return true;
  if (messages.empty()) return false;
  without_hello_.erase(link.value);
  if (std::holds_alternative<Hello>(messages.front())) return true;
  server_->close(link, "the agent has not said hello first");
  return false;
}

// A client that gets a stream could hold it for ever, and as many as there may be.
void ControllerDaemon::end_without_hello() {
  const auto now = TaskQueue::Clock::now();
  while (!without_hello_.empty() && without_hello_.begin()->second <= now) {
    const LinkId link{without_hello_.begin()->first};
    without_hello_.erase(without_hello_.begin());
    server_->close(link, "the agent has not said hello in time");
  }
}

// What it leads still is given up first, on the same thread: that may wait for the network.
void ControllerDaemon::campaign() {
  campaign_ = std::jthread([this](const std::stop_token& stop) {
    (void)election_->resign();
    tasks_.post([this, result = election_->campaign(stop)] { campaigned(result); });
  });
}

void ControllerDaemon::campaigned(const Result<std::optional<Leadership>>& result) {
  if (!result) {
    // What it lacks may be given to it where it runs: rights at the election's service, say.
    try_again_at_ = TaskQueue::Clock::now() + kCampaignRetry;
    campaign_failed_ = true;
    return tell_admission(Admission::Following, text_of(result.errors()));
  }
  campaign_failed_ = false;
  if (!*result) return;  // Cancelled.
  leadership_ = **result;
  begin_term();
}

// Where the store takes another's records, or is held by another process, leadership is won anew;
// and where a campaign ended with an error there is none.
void ControllerDaemon::try_again() {
  if (leadership_ && !store_is_taken_) {
    // Where it cannot even renew its leadership the store is out of reach too, and this thread
    // would stand still until it has tried all of its members.
    if (election_->is_certain()) return begin_term();
    try_again_at_ = TaskQueue::Clock::now() + kStoreRetry;
    return;
  }
  try_again_at_.reset();
  leadership_.reset();
  campaign();
}

// A term that was halted stands, and renews leases, until the begin of the next one is durable: a
// store may open and yet take no record, as on a full disk.
void ControllerDaemon::begin_term() {
  try_again_at_.reset();
  next_term_.reset();
  if (term_) term_->release_store();
  store_.reset();
  Result<std::unique_ptr<StateStore>> opened = parts_.open_store(*leadership_);
  Errors errors;
  if (!opened) errors = opened.errors();
  if (errors.empty()) {
    store_ = std::move(opened).value();
    next_policy_ = parts_.policy();
    LeaderTermParts parts{parts_.config,
                          *store_,
                          *next_policy_,
                          *election_,
                          *server_,
                          lines_,
                          changes_,
                          epoch_min_,
                          !was_behind_,
                          [this] { tasks_.wake(); },
                          [this](std::function<void()> task) { tasks_.post(std::move(task)); },
                          {},
                          {},
                          plans_lost_};
    if (parts_.planner) parts.planner = parts_.planner(*next_policy_, parts.wake);
    parts.relaunch = [this](std::vector<std::string> nodes,
                            std::string description,
                            Duration timeout,
                            std::function<void(std::vector<std::string>, std::string)> done) {
      if (!parts_.relaunch) return done({}, "no relaunch_command is configured");
      parts_.relaunch(std::move(nodes),
                      std::move(description),
                      timeout,
                      [this, done](auto replaced, auto error) {
                        tasks_.post([done, replaced, error] { done(replaced, error); });
                      });
    };
    Result<std::unique_ptr<LeaderTerm>> begun = LeaderTerm::begin(std::move(parts));
    if (begun) {
      next_term_ = std::move(begun).value();
      store_is_taken_ = false;
      if (!term_) take_next_term();
      return;
    }
    errors = begun.errors();
  }
  not_begun(errors);
}

void ControllerDaemon::take_next_term() {
  term_ = std::move(next_term_);
  policy_ = std::move(next_policy_);  // The one before was the policy of a term that is gone now.
  ++terms_;
  tell_admission(Admission::Starting, "the begin of the term is being made durable");
}

// Of the term that is to follow one that was halted.
void ControllerDaemon::look_at_next_term() {
  next_term_->work();
  if (next_term_->is_established()) return take_next_term();
  if (!next_term_->is_halted()) return;
  const Errors errors = next_term_->store_errors();
  next_term_.reset();
  not_begun(errors);
}

void ControllerDaemon::not_begun(const Errors& errors) {
  store_.reset();
  store_is_taken_ = std::any_of(errors.begin(), errors.end(), [](const Error& error) {
    return error.code == ErrorCode::Conflict;
  });
  tell_admission(Admission::StoreFailed, why_store_failed(errors));
  try_again_at_ = TaskQueue::Clock::now() + kStoreRetry;
}

void ControllerDaemon::look_at_term() {
  if (const std::optional<Epoch> later = term_->outgrown();
      later && !term_->is_halted() && leaps_ < kLeapsMax)
    return outgrow(*later);
  if (term_->is_deposed()) return end_term(Admission::Following, text_of(term_->store_errors()));
  if (term_->is_halted()) {
    if (admission_ == Admission::StoreFailed) return;
    tell_admission(Admission::StoreFailed, why_store_failed(term_->store_errors()));
    try_again_at_ = TaskQueue::Clock::now() + kStoreRetry;
    return;
  }
  if (term_->is_established() && admission_ != Admission::Open) tell_admission(Admission::Open, {});
}

// Nodes know more than the journal. The next term begins in an epoch that they obey. A node that
// claims records that cannot be is believed once, and epochs a bounded number of times: else one
// node could keep all others from being led.
void ControllerDaemon::outgrow(Epoch later) {
  ++leaps_;
  epoch_min_ = later;
  was_behind_ = true;
  (void)term_->flush();
  term_.reset();
  begin_term();
}

// Another leads, or may: nothing of ours counts any more.
void ControllerDaemon::end_term(Admission admission, std::string why) {
  if (!leadership_) return;
  leadership_.reset();
  next_term_.reset();
  term_.reset();
  store_.reset();
  policy_.reset();
  try_again_at_.reset();
  campaign_failed_ = false;
  tell_admission(admission, std::move(why));
  campaign();
}

std::string ControllerDaemon::why_store_failed(const Errors& errors) const {
  if (!term_) return text_of(errors);
  return (election_->is_certain() ? kJobsRunOn : kMayBeDeposed) + text_of(errors);
}

void ControllerDaemon::tell_admission(Admission admission, std::string why) {
  if (admission == admission_ && why == why_) return;
  admission_ = admission;
  why_ = std::move(why);
  EventLine line;
  line.at = JournalClock::wall();
  line.event.severity = admission == Admission::Open || admission == Admission::Starting
                            ? Severity::Normal
                            : Severity::Warning;
  line.event.name = "Admission";
  line.event.message = std::string(to_string(admission)) + (why_.empty() ? "" : ": " + why_);
  // Where it does not lead nobody may ever see the event.
  if (line.event.severity == Severity::Warning && parts_.say)
    parts_.say("admission " + line.event.message);
  lines_.add(std::move(line));
  changes_.tell(JobId::none());
}

// One that is about to lead, or did, is named already: no client is redirected to the controller
// that it asked.
std::optional<Candidate> ControllerDaemon::known_leader() const {
  std::optional<Candidate> leader = election_->leader();
  if (!leadership_ && leader && leader->name == parts_.config.name) return std::nullopt;
  return leader;
}

// Why it lost the lead, or began, is of no more interest once another one leads; why it cannot
// campaign is.
std::string ControllerDaemon::why() const {
  if (leadership_ || campaign_failed_) return why_;
  const std::optional<Candidate> leader = known_leader();
  return leader ? "controller " + leader->name + " leads" : why_;
}

ControllerFacts ControllerDaemon::facts() {
  ControllerFacts out;
  out.admission = admission_;
  out.why = why();
  out.has_state = term_ != nullptr;
  const std::optional<Candidate> leader = known_leader();
  if (leader) out.leader_url = leader->address;
  if (leader && !leadership_ && admission_ == Admission::Starting)
    out.admission = Admission::Following;
  // Another one may lead already: what is known here may be old, and nothing can be written.
  if ((out.admission == Admission::Open || out.admission == Admission::StoreFailed) &&
      !election_->is_certain()) {
    out.admission = Admission::Starting;
    out.why = "this controller is not certain that it still leads; ask again";
  }
  out.name = parts_.config.name;
  out.started = started_;
  out.links_opened = links_opened_;
  out.messages_in = messages_in_;
  out.terms = terms_;
  out.plans_lost = plans_lost_;
  out.inbox = tasks_.size();
  out.inbox_wait = inbox_wait_;
  if (term_) term_->add_facts(out);
  return out;
}

}  // namespace orrery::runtime
