#include "sim/storm/notice_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace orrery::sim {
namespace {

// As docs/operations.md has them: a second, doubled by each loss in a row.
constexpr Duration kPause = Duration::seconds(1);
constexpr Duration kPauseMax = Duration::seconds(60);

std::string joined(std::string_view a, std::string_view b) {
  return std::string(a) + std::string(b);
}

bool is_of_plan(const Notice& notice) {
  return notice.event_kind == EventKinds(std::in_place_type<PlanProposed>).index();
}

// The names that the log of events and the stream of the HTTP interface have.
std::string name_for(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      return joined("Job", to_string(notice.to));
    case NoticeKind::NodeChanged:
      return joined("Node", to_string(notice.change));
    case NoticeKind::WorkersReported:
      return joined("Workers", to_string(notice.fact));
    case NoticeKind::IgnoredReport:
      return is_of_plan(notice) ? "GrantDropped" : "ReportIgnored";
    default:
      return std::string(to_string(notice.kind));
  }
}

// Whether a person should worry: what failed, what was lost, and whom it disturbs.
bool is_worrying(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      return notice.to == JobPhase::Restarting || notice.to == JobPhase::Rescheduling ||
             notice.to == JobPhase::Unknown || notice.to == JobPhase::Failed;
    case NoticeKind::NodeChanged:
      return !notice.up;
    case NoticeKind::WorkersReported:
      return !is_up(notice.fact) && !(notice.fact == WorkerFact::Exited && notice.exit_code == 0);
    case NoticeKind::IgnoredReport:
      return is_of_plan(notice);
    case NoticeKind::GrantDropped:
    case NoticeKind::PlanLost:
    case NoticeKind::IncidentOpened:
    case NoticeKind::WorkerSuspected:
    case NoticeKind::WorkLost:
      return true;
    case NoticeKind::Allocated:
    case NoticeKind::Counted:
    case NoticeKind::GrantClipped:
    case NoticeKind::PolicyChosen:
    case NoticeKind::IncidentClosed:
    case NoticeKind::WorkerRestarted:
      return false;
  }
  return false;
}

// What the message must say of what the notice counts; empty: nothing.
std::string counted_in(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::Counted:
      return joined(to_string(notice.counter), ": ") + std::to_string(notice.count);
    case NoticeKind::IncidentOpened:
    case NoticeKind::IncidentClosed:
      return "incident " + std::to_string(notice.incident);
    case NoticeKind::WorkersReported:
      return std::to_string(notice.count) + " from rank " + std::to_string(notice.first.value);
    case NoticeKind::WorkerRestarted:
    case NoticeKind::WorkerSuspected:
      return "replica " + std::to_string(notice.local_rank);
    default:
      return "";
  }
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// What capacity is counted in, and who needs it.
constexpr std::array<std::string_view, 10> kNouns{"replica",
                                                  "device",
                                                  "core",
                                                  "worker",
                                                  "bundle",
                                                  "failure",
                                                  "process",
                                                  "node",
                                                  "restart",
                                                  "preemption"};

// The word is the noun in the plural, or in the singular.
bool is_plural(std::string_view word, std::string_view noun) {
  return word.starts_with(noun) && (word.substr(noun.size()) == "s" ||
                                    (noun == "process" && word.substr(noun.size()) == "es"));
}

}  // namespace

std::string disagreement(const std::string& message) {
  const std::string_view text(message);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = is_digit(text[i]) && (i == 0 || text[i - 1] == ' ');
    if (!begins) continue;
    std::size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end >= text.size() || text[end] != ' ') continue;
    std::size_t word_end = end + 1;
    while (word_end < text.size() && is_letter(text[word_end])) ++word_end;
    const std::string_view word = text.substr(end + 1, word_end - end - 1);
    const bool is_one = text.substr(i, end - i) == "1";
    for (const std::string_view noun : kNouns)
      if (is_one ? is_plural(word, noun) : word == noun)
        return std::string(text.substr(i, word_end - i));
    // "each" is said of several.
    constexpr std::string_view kEach = " each on one node";
    const std::size_t each = text.find(kEach, word_end);
    const std::size_t stop = text.find(';', word_end);
    if (is_one && word == "replica" && each != std::string_view::npos && each < stop)
      return std::string(text.substr(i, each + kEach.size() - i));
  }
  return {};
}

void NoticeCheck::say(ViolationKind kind, const std::string& text) {
  found_.add(kind, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void NoticeCheck::folded(Instant now, const FoldedRecord& record, const StatusReader& reader) {
  now_ = now;
  at_ = record.sequence;
  for (const Notice& notice : record.decided.notices) check_words(notice, reader.event(notice));
  check_pause(record);
}

void NoticeCheck::check_words(const Notice& notice, const UserEvent& event) {
  const std::string name = name_for(notice);
  if (event.name != name)
    say(ViolationKind::StatusWrong, "the event " + name + " is told as \"" + event.name + "\"");
  if ((event.severity == Severity::Warning) != is_worrying(notice))
    say(ViolationKind::StatusWrong,
        "the event " + name + " is told as " + std::string(to_string(event.severity)));
  if (event.message.empty())
    say(ViolationKind::StatusWrong, "the event " + name + " has no message");
  if (const std::string counted = counted_in(notice);
      event.message.find(counted) == std::string::npos)
    say(ViolationKind::StatusWrong,
        "the event " + name + " does not say \"" + counted + "\": " + event.message);
}

// A policy that gives no plan time after time is asked less and less often.
void NoticeCheck::check_pause(const FoldedRecord& record) {
  const EventBody& body = record.event.body;
  if (std::holds_alternative<EpochStarted>(body)) return begin_again();
  const bool lost = std::holds_alternative<PlanLost>(body);
  if (!lost && !std::holds_alternative<PlanProposed>(body)) return;
  if (record.event.at < asked_from_)
    say(ViolationKind::DeadlineMissed,
        "the policy was asked again before " +
            std::to_string((asked_from_ - Instant::zero()).in_seconds()) + " s, " +
            std::to_string(lost_in_a_row_) + " plans were lost in a row");
  if (!lost) return begin_again();
  const Duration doubled = kPause * (std::int64_t{1} << std::min(lost_in_a_row_, 20U));
  asked_from_ = record.event.at + std::min(doubled, kPauseMax);
  ++lost_in_a_row_;
}

}  // namespace orrery::sim
