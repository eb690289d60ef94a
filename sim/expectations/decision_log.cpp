#include "sim/expectations/decision_log.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/record/event.hpp"

namespace orrery::sim {
namespace {

// An agent repeats what its workers did until it knows that it is registered: how often is the
// network's doing, and nothing is decided.
bool is_repeated(const Notice& notice) {
  static const std::size_t kind = EventKinds(std::in_place_type<WorkersChanged>).index();
  return notice.ignored == Ignored::AlreadyKnown && notice.event_kind == kind;
}

std::string_view verb(WorkerFact fact) {
  switch (fact) {
    case WorkerFact::Ready:
      return "ready";
    case WorkerFact::Exited:
      return "exited";
    case WorkerFact::Lost:
      return "lost";
    case WorkerFact::LaunchFailed:
      return "refused";
    case WorkerFact::Running:
      return "running";
  }
  return "";
}

/// "0-3, 5"; `ranks` are sorted here.
std::string ranges(std::vector<std::uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string generation_of(const Notice& notice) {
  if (notice.generation.value == 0) return "";
  return "generation " + std::to_string(notice.generation.value) + ": ";
}

std::string counted(std::int64_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace

DecisionLog::Block& DecisionLog::block_of(JobId job) {
  if (job.is_none()) return cluster_;
  if (job.index() >= jobs_.size()) jobs_.resize(job.index() + 1);
  return jobs_[job.index()];
}

void DecisionLog::on_job(JobId job, std::string_view name) { block_of(job).name = name; }

void DecisionLog::flush(Block& block) {
  Reports& reports = block.reports;
  if (reports.ranks.empty()) return;
  std::string line(verb(reports.fact));
  if (reports.fact == WorkerFact::Exited) line += " " + std::to_string(reports.exit_code) + " of";
  line += " " + ranges(std::move(reports.ranks));
  reports = {};
  block.lines.push_back(std::move(line));
}

// "SpareUsed" as "spare used".
std::string change_text(NodeChange change) {
  std::string text;
  for (const char c : to_string(change)) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && !text.empty()) text += ' ';
    text += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

void DecisionLog::add_line(Block& block, std::string line) {
  flush(block);
  block.lines.push_back(std::move(line));
}

void DecisionLog::add_reports(Block& block, const Notice& notice) {
  Reports& reports = block.reports;
  if (reports.fact != notice.fact || reports.exit_code != notice.exit_code) flush(block);
  reports.fact = notice.fact;
  reports.exit_code = notice.exit_code;
  for (std::int32_t i = 0; i < notice.count; ++i)
    reports.ranks.push_back(notice.first.value + static_cast<std::uint32_t>(i));
}

void DecisionLog::on_notice(const Notice& notice, std::string_view chosen) {
  Block& block = block_of(notice.job);
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      add_line(block,
               generation_of(notice) + std::string(to_string(notice.to)) + "  " +
                   std::string(to_string(notice.reason)));
      break;
    case NoticeKind::Allocated:
      add_line(block,
               "allocated " + counted(notice.count, "worker") + ", " +
                   counted(notice.devices, "device"));
      break;
    case NoticeKind::Counted:
      add_line(block, std::string(to_string(notice.counter)) + " " + std::to_string(notice.count));
      break;
    case NoticeKind::IgnoredReport:
      if (is_repeated(notice)) break;
      add_line(block,
               "ignored " + std::string(event_kind_name(notice.event_kind)) + ": " +
                   std::string(to_string(notice.ignored)));
      break;
    case NoticeKind::GrantDropped:
      add_line(block, "grant dropped: " + std::string(to_string(notice.ignored)));
      break;
    case NoticeKind::GrantClipped:
      add_line(block, "grant clipped");
      break;
    case NoticeKind::PlanLost:
      add_line(block, "plan lost: " + std::string(to_string(notice.loss)));
      break;
    case NoticeKind::PolicyChosen:
      add_line(block, "policy chosen: " + std::string(chosen));
      break;
    case NoticeKind::NodeChanged:
      add_line(block,
               "node " + std::to_string(notice.node.value) + " " + change_text(notice.change));
      break;
    case NoticeKind::IncidentOpened:
      add_line(block,
               "incident " + std::to_string(notice.incident) + ": " +
                   std::string(to_string(notice.reason)) + " takes the " +
                   std::string(to_string(notice.scope)) + (notice.charged ? ", charged" : ""));
      break;
    case NoticeKind::IncidentClosed:
      add_line(block, "incident " + std::to_string(notice.incident) + " closed");
      break;
    case NoticeKind::WorkerRestarted:
      // Told by the reports of readiness already.
    case NoticeKind::WorkLost:
    case NoticeKind::WorkerSuspected:
      // Known to within a report of progress, which the worlds make at different instants.
      break;
    case NoticeKind::WorkersReported:
      add_reports(block, notice);
      break;
  }
}

std::string DecisionLog::text() const {
  std::string text;
  const auto write = [&](Block block, const std::string& title) {
    flush(block);
    text += title + "\n";
    for (std::size_t i = 0; i < block.lines.size();) {
      std::size_t same = i + 1;
      while (same < block.lines.size() && block.lines[same] == block.lines[i]) ++same;
      text += "  " + block.lines[i];
      if (same - i > 1) text += " (" + std::to_string(same - i) + " times)";
      text += "\n";
      i = same;
    }
  };
  for (const Block& job : jobs_) write(job, "job " + job.name);
  if (!cluster_.lines.empty()) write(cluster_, "cluster");
  return text;
}

namespace {

struct JobBlock {
  std::string_view job;
  std::vector<std::string> lines;
};

/// Of a line that reports of workers all before their ranks, "exited 0 of "; else empty.
std::string_view before_ranks(std::string_view line) {
  for (const std::string_view verb : {"ready ", "lost ", "refused ", "running "})
    if (line.starts_with(verb)) return verb;
  const std::size_t of = line.find(" of ");
  return line.starts_with("exited ") && of != line.npos ? line.substr(0, of + 4) : "";
}

/// The inverse of `ranges`.
void read_ranges(std::string_view text, std::vector<std::uint32_t>& ranks) {
  while (!text.empty()) {
    std::uint32_t first = 0;
    const char* const end = text.data() + text.size();
    const char* at = std::from_chars(text.data(), end, first).ptr;
    std::uint32_t last = first;
    if (at != end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (std::uint32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
    text.remove_prefix(std::min<std::size_t>(at - text.data() + 2, text.size()));
  }
}

/// Reports of one kind that follow one another once what is of the moment is left out are one.
void add_decision(std::vector<std::string>& lines, std::string_view line) {
  const std::string_view says = before_ranks(line);
  if (says.empty() || lines.empty() || before_ranks(lines.back()) != says) {
    lines.emplace_back(line);
    return;
  }
  std::vector<std::uint32_t> ranks;
  read_ranges(std::string_view(lines.back()).substr(says.size()), ranks);
  read_ranges(line.substr(says.size()), ranks);
  lines.back() = std::string(says) + ranges(std::move(ranks));
}

/// Whether a line tells of the moment at which things were said, in which worlds differ: reports
/// that come too late, proposals of a policy that do not fit just then, the end of an incident,
/// which other jobs may share.
bool is_of_the_moment(std::string_view line) {
  const std::string_view subject = line.substr(0, line.find(':'));
  if (line.starts_with("ignored ")) return !subject.ends_with("_requested");
  return line.starts_with("grant ") || (line.starts_with("incident ") && line.ends_with(" closed"));
}

/// "generation 1: Failed  StoppedByUser"; without a generation it never started.
bool is_final(std::string_view line) {
  const std::size_t colon = line.find(": ");
  const std::string_view phase = colon == line.npos ? line : line.substr(colon + 2);
  return phase.starts_with("Succeeded  ") || phase.starts_with("Failed  ");
}

std::vector<JobBlock> blocks_of(std::string_view text) {
  std::vector<JobBlock> blocks;
  bool of_job = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("  ")) {
      of_job = line.starts_with("job ");
      if (of_job) blocks.push_back({line.substr(4), {}});
    } else if (of_job && !is_of_the_moment(line.substr(2))) {
      add_decision(blocks.back().lines, line.substr(2));
    }
  }
  return blocks;
}

}  // namespace

std::vector<DecisionDifference> decision_differences(std::string_view found,
                                                     std::string_view expected) {
  const std::vector<JobBlock> ours = blocks_of(found);
  std::vector<JobBlock> theirs = blocks_of(expected);
  const auto of_job = [](const std::vector<JobBlock>& blocks, std::string_view job) {
    return std::ranges::find(blocks, job, &JobBlock::job);
  };
  for (const JobBlock& block : ours)
    if (of_job(theirs, block.job) == theirs.end()) theirs.push_back({block.job, {}});
  std::vector<DecisionDifference> out;
  for (const JobBlock& block : theirs) {
    const auto mine = of_job(ours, block.job);
    const std::vector<std::string> none;
    const std::vector<std::string>& lines = mine == ours.end() ? none : mine->lines;
    const auto [a, b] = std::ranges::mismatch(lines, block.lines);
    if (a == lines.end() && b == block.lines.end()) continue;
    // When the last processes of a job that is over end, and whether the run lasts so long.
    if (std::any_of(lines.begin(), a, is_final)) continue;
    DecisionDifference difference{std::string(block.job), {}, {}, {}};
    if (a != lines.end()) difference.found = *a;
    if (b != block.lines.end()) difference.expected = *b;
    if (a != lines.begin()) difference.after = *std::prev(a);
    out.push_back(std::move(difference));
  }
  return out;
}

}  // namespace orrery::sim
