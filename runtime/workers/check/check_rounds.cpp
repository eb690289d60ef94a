#include "runtime/workers/check/check_rounds.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/number_text.hpp"

namespace orrery::worker {
namespace {

constexpr std::int32_t kRounds = 2;
// Two devices sum up in other orders: what they computed agrees up to rounding.
constexpr double kRounding = 1e-3;

constexpr std::string_view kOk = "ok ";
constexpr std::string_view kFailed = "failed ";
constexpr std::string_view kSlow = "slow ";
constexpr std::string_view kAbnormal = "abnormal ";

Duration since(SteadyClock::time_point begin) {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - begin).count()};
}

std::string key(std::string_view name, std::int32_t round, std::int32_t rank) {
  return std::string(name) + "/" + std::to_string(round) + "/" + std::to_string(rank);
}

std::string groups_key(std::int32_t round) { return "groups/" + std::to_string(round); }

std::string read_key(std::int32_t rank) { return "read/" + std::to_string(rank); }

/// One line, and not a long one: reasons come from drivers.
std::string short_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  if (text.size() > 400) text.resize(400);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find(between);
    out.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

/// What one rank said of a round.
struct Said {
  std::string failure;  ///< Empty: none.
  Duration took;
  double mean = 0;  ///< Of its product's entries.
};

std::string text_of(const Said& said) {
  if (!said.failure.empty()) return std::string(kFailed) + short_line(said.failure);
  return std::string(kOk) + std::to_string(said.took.ns) + " " + std::to_string(said.mean);
}

Said said_in(std::string_view text) {
  Said out;
  if (text.starts_with(kOk)) {
    const std::vector<std::string_view> words = parts_of(text.substr(kOk.size()), ' ');
    const auto took = words.size() == 2 ? parsed_number<std::int64_t>(words[0]) : std::nullopt;
    const auto mean = words.size() == 2 ? parsed_number<double>(words[1]) : std::nullopt;
    if (took && mean) {
      out.took = Duration{*took};
      out.mean = *mean;
      return out;
    }
  }
  out.failure = text.starts_with(kFailed) ? text.substr(kFailed.size())
                                          : "it spoke another protocol: " + std::string(text);
  return out;
}

/// One rank's part in both rounds.
class RankCheck {
 public:
  RankCheck(const Group& group, const CheckParts& parts, const CheckWork& work, Rendezvous& meeting)
      : group_(group), parts_(parts), work_(work), meeting_(meeting) {}

  /// Round `round`, whose groups rank 0 has set: computes, sums, and says how long that took.
  Outcome take_part(std::int32_t round) {
    std::string text;
    Outcome step = meeting_.get(groups_key(round), text);
    if (!step.ok()) return step;
    const CheckGroups groups = groups_in(text, static_cast<std::size_t>(group_.world_size));
    const auto own = std::ranges::find_if(groups, [this](const std::vector<std::size_t>& each) {
      return std::ranges::find(each, static_cast<std::size_t>(group_.rank)) != each.end();
    });
    if (own == groups.end())
      return Outcome::fatal("rank 0 gave this rank no group: \"" + text.substr(0, 100) + "\"");
    Said said;
    Digest digest;
    Duration computed;
    const Outcome device = check_device(parts_, work_, computed, digest);
    if (!device.ok()) said.failure = device.reason;
    Duration summed;
    step = sum_with(*own, round, said, summed);
    if (!step.ok()) return step;
    said.took = Duration{computed.ns + summed.ns};
    said.mean = digest.mean;
    return meeting_.set(key("measure", round, group_.rank), text_of(said));
  }

 private:
  /// Sums with the group, once all of it are able to. What goes wrong there is the round's failure
  /// of this rank, and no end of the check.
  Outcome sum_with(const std::vector<std::size_t>& ranks,
                   std::int32_t round,
                   Said& said,
                   Duration& took) {
    const bool leads = static_cast<std::int32_t>(ranks.front()) == group_.rank;
    Endpoint place{meeting_.own_address(), 0};
    // Held until the sums are over, for the collective listens by itself.
    Descriptor held;
    if (leads) {
      Result<Descriptor> bound = bind_at(place);
      const Result<Endpoint> found = bound ? local_end(*bound) : Result<Endpoint>(bound.errors());
      if (bound) held = std::move(bound).value();
      if (found)
        place.port = found->port;
      else if (said.failure.empty())
        said.failure = found.errors().front().text();
    }
    Outcome step = meeting_.set(key("begin", round, group_.rank),
                                said.failure.empty() ? std::string(kOk) + place.text()
                                                     : std::string(kFailed) + said.failure);
    for (const std::size_t rank : ranks) {
      std::string theirs;
      if (step.ok())
        step = meeting_.get(key("begin", round, static_cast<std::int32_t>(rank)), theirs);
      if (!step.ok()) return step;
      if (!theirs.starts_with(kOk)) {
        if (said.failure.empty()) said.failure = "rank " + std::to_string(rank) + " " + theirs;
      } else if (rank == ranks.front()) {
        const Result<Endpoint> at = endpoint_of(theirs.substr(kOk.size()));
        if (at) place = *at;
      }
    }
    if (!said.failure.empty() || ranks.size() < 2) return Outcome::done();
    Group pair;
    pair.meeting = {
        group_.meeting.job + "/" + std::to_string(round) + "/" + std::to_string(ranks.front()),
        group_.meeting.generation,
        place};
    pair.rank = static_cast<std::int32_t>(
        std::ranges::find(ranks, static_cast<std::size_t>(group_.rank)) - ranks.begin());
    pair.world_size = static_cast<std::int32_t>(ranks.size());
    const Outcome summed = sum_up(pair, took);
    // Who leaves ends the group for the others: at once where it failed, else when all are through.
    if (!summed.ok()) parts_.collective.leave();
    if (summed.kind == OutcomeKind::Cancelled) return summed;
    if (!summed.ok()) said.failure = summed.reason;
    step = wait_for_all(ranks, round);
    parts_.collective.leave();
    return step;
  }

  /// Until each of the group has its sums, or has given them up.
  Outcome wait_for_all(const std::vector<std::size_t>& ranks, std::int32_t round) {
    Outcome step = meeting_.set(key("summed", round, group_.rank), "ok");
    std::string ignored;
    for (const std::size_t rank : ranks)
      if (step.ok())
        step = meeting_.get(key("summed", round, static_cast<std::int32_t>(rank)), ignored);
    return step;
  }

  /// Every rank brings its number in the group plus one, and all must see the sum. Times the sums
  /// alone: a peer may still be computing.
  Outcome sum_up(const Group& pair, Duration& took) {
    Outcome step = parts_.collective.rebuild(pair);
    if (!step.ok()) return step;
    const bool on_device = parts_.collective.takes_device_memory();
    const std::span<float> product = parts_.compute.product();
    std::vector<float> host(product.size());
    const auto ranks = static_cast<float>(pair.world_size);
    const float sum = ranks * (ranks + 1) / 2;
    for (std::int32_t i = 0; i < work_.sums && step.ok(); ++i) {
      std::ranges::fill(host, static_cast<float>(pair.rank + 1));
      if (on_device) step = parts_.compute.write_product(host);
      if (!step.ok()) break;
      const auto begin = SteadyClock::now();
      step = parts_.collective.all_reduce(on_device ? product : std::span(host));
      took.ns += since(begin).ns;
      if (step.ok() && on_device) step = parts_.compute.read_product(host);
      if (step.ok() && !std::ranges::all_of(host, [sum](float each) { return each == sum; }))
        step = Outcome::fatal("a sum of " + std::string(parts_.collective.name()) + " over " +
                              std::to_string(pair.world_size) + " ranks is wrong");
    }
    return step;
  }

  const Group& group_;
  const CheckParts& parts_;
  const CheckWork& work_;
  Rendezvous& meeting_;
};

/// Rank 0's part: forms the groups, hears the measures, judges.
class Judge {
 public:
  Judge(std::int32_t ranks, const CheckWork& work, Rendezvous& meeting)
      : ranks_(ranks),
        check_(static_cast<std::size_t>(ranks), work.slow_factor),
        failures_(static_cast<std::size_t>(ranks)),
        took_(static_cast<std::size_t>(ranks)),
        meeting_(meeting) {}

  Outcome open_round() {
    return meeting_.set(groups_key(check_.round()), worker::text_of(check_.groups()));
  }

  /// Hears all ranks of the round.
  Outcome close_round() {
    const std::int32_t round = check_.round();
    std::vector<Said> said;
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      std::string text;
      const Outcome step = meeting_.get(key("measure", round, rank), text);
      if (!step.ok()) return step;
      said.push_back(said_in(text));
    }
    compare(said);
    for (std::size_t rank = 0; rank < said.size(); ++rank) {
      if (!said[rank].failure.empty()) failures_[rank] = said[rank].failure;
      // Its better round counts, as for the verdict.
      else if (took_[rank].ns == 0 || said[rank].took < took_[rank])
        took_[rank] = said[rank].took;
      check_.take(rank, round, {!said[rank].failure.empty(), said[rank].took});
    }
    return Outcome::done();
  }

  Outcome tell_verdict() {
    std::vector<RankVerdict> all(static_cast<std::size_t>(ranks_));
    const CheckVerdict& found = *check_.verdict();
    std::vector<Duration> taken = took_;
    std::ranges::sort(taken);
    const Duration median = taken[(taken.size() - 1) / 2];
    for (const std::size_t rank : found.stragglers) {
      const auto times = static_cast<double>(took_[rank].ns) /
                         static_cast<double>(std::max<std::int64_t>(1, median.ns));
      all[rank] = {RankVerdict::Kind::Slow,
                   "takes " + std::to_string(std::lround(times)) + " times as long as most ranks"};
    }
    for (const std::size_t rank : found.abnormal)
      all[rank] = {RankVerdict::Kind::Abnormal, failures_[rank]};
    std::string text;
    for (const RankVerdict& each : all) text += line_of(each) + "\n";
    return meeting_.set("verdict", text);
  }

  /// Nobody leaves the meeting before all have read the verdict.
  Outcome await_readers() {
    Outcome step = Outcome::done();
    std::string ignored;
    for (std::int32_t rank = 1; rank < ranks_ && step.ok(); ++rank)
      step = meeting_.get(read_key(rank), ignored);
    return step;
  }

 private:
  /// All computed the same product; who has another one computed wrongly.
  static void compare(std::vector<Said>& said) {
    std::vector<double> means;
    for (const Said& each : said)
      if (each.failure.empty()) means.push_back(each.mean);
    if (means.size() < 3) return;  // Of two that differ, either may be right.
    const auto middle = means.begin() + static_cast<std::ptrdiff_t>((means.size() - 1) / 2);
    std::ranges::nth_element(means, middle);
    const double median = *middle;
    for (Said& each : said)
      if (each.failure.empty() && std::abs(each.mean - median) > kRounding * std::abs(median))
        each.failure = "computed other numbers than most ranks do from the same matrices";
  }

  std::int32_t ranks_;
  NodeCheck check_;
  std::vector<std::string> failures_;  ///< The last one of each rank.
  std::vector<Duration> took_;         ///< The better round of each rank.
  Rendezvous& meeting_;
};

Outcome run_rounds(const Group& group,
                   const CheckParts& parts,
                   const CheckWork& work,
                   Rendezvous& meeting,
                   RankVerdict& verdict) {
  RankCheck own(group, parts, work, meeting);
  std::optional<Judge> judge;
  if (group.rank == 0) judge.emplace(group.world_size, work, meeting);
  Outcome step = Outcome::done();
  for (std::int32_t round = 1; round <= kRounds && step.ok(); ++round) {
    if (judge) step = judge->open_round();
    if (step.ok()) step = own.take_part(round);
    if (step.ok() && judge) step = judge->close_round();
  }
  if (step.ok() && judge) step = judge->tell_verdict();
  std::string text;
  if (step.ok()) step = meeting.get("verdict", text);
  if (!step.ok()) return step;
  const std::vector<std::string_view> lines = parts_of(text, '\n');
  const auto rank = static_cast<std::size_t>(group.rank);
  verdict = verdict_in(rank < lines.size() ? lines[rank] : std::string_view());
  return judge ? judge->await_readers() : meeting.set(read_key(group.rank), "ok");
}

}  // namespace

std::string line_of(const RankVerdict& verdict) {
  switch (verdict.kind) {
    case RankVerdict::Kind::Passed:
      return "ok";
    case RankVerdict::Kind::Slow:
      return std::string(kSlow) + short_line(verdict.why);
    case RankVerdict::Kind::Abnormal:
      break;
  }
  return std::string(kAbnormal) + short_line(verdict.why);
}

RankVerdict verdict_in(std::string_view line) {
  if (line == "ok") return {};
  if (line.starts_with(kSlow))
    return {RankVerdict::Kind::Slow, std::string(line.substr(kSlow.size()))};
  if (line.starts_with(kAbnormal))
    return {RankVerdict::Kind::Abnormal, std::string(line.substr(kAbnormal.size()))};
  return {RankVerdict::Kind::Abnormal, "rank 0 gave another verdict: " + std::string(line)};
}

std::string text_of(const CheckGroups& groups) {
  std::string out;
  for (const std::vector<std::size_t>& group : groups) {
    if (!out.empty()) out += ';';
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i > 0) out += ',';
      out += std::to_string(group[i]);
    }
  }
  return out;
}

CheckGroups groups_in(std::string_view text, std::size_t ranks) {
  CheckGroups out;
  for (const std::string_view group : parts_of(text, ';')) {
    std::vector<std::size_t> members;
    for (const std::string_view word : parts_of(group, ',')) {
      const auto rank = parsed_number<std::size_t>(word);
      if (rank && *rank < ranks) members.push_back(*rank);
    }
    if (!members.empty()) out.push_back(std::move(members));
  }
  return out;
}

Outcome check_device(const CheckParts& parts,
                     const CheckWork& work,
                     Duration& took,
                     Digest& digest) {
  Compute& compute = parts.compute;
  std::vector<float> first(compute.product().size());
  std::vector<float> again(first.size());
  for (std::int32_t i = 0; i < std::max(1, work.products); ++i) {
    const auto begin = SteadyClock::now();
    Outcome step = compute.multiply();
    took.ns += since(begin).ns;
    if (step.ok()) step = compute.read_product(i == 0 ? first : again);
    if (!step.ok()) return step;
    if (i > 0 && std::memcmp(first.data(), again.data(), first.size() * sizeof(float)) != 0)
      return Outcome::fatal(
          "the same product of matrices had other bits when it was computed again");
  }
  digest = digest_of(first);
  return check_entries(first);
}

Outcome check_together(const Group& group,
                       const CheckParts& parts,
                       const CheckWork& work,
                       const Limits& limits,
                       RankVerdict& verdict) {
  std::unique_ptr<RendezvousServer> server;
  if (group.rank == 0) {
    Result<std::unique_ptr<RendezvousServer>> started = RendezvousServer::start(group.meeting);
    if (!started) return Outcome::peer_lost(started.errors().front().text());
    server = std::move(started).value();
  }
  std::unique_ptr<Rendezvous> meeting;
  Outcome step = Rendezvous::join(group.meeting, limits, meeting);
  if (!step.ok()) return step;
  step = run_rounds(group, parts, work, *meeting, verdict);
  if (!step.ok() || group.rank == 0) return step;
  // The program that follows listens at rank 0's port: that is free when rank 0 has left.
  while (!is_cut(meeting->lifeline()) && step.ok())
    step = wait_time(Milliseconds(5), limits, "rank 0 leaves the check");
  return Outcome::done();
}

}  // namespace orrery::worker
