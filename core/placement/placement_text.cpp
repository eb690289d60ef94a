#include "core/placement/placement_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/placement/plan.hpp"

namespace orrery::placement {
namespace {

/// Ranges without common ranks, ascending.
class RankSet {
 public:
  /// The first rank that `range` shares with the set.
  std::optional<std::int64_t> find_shared(RankRange range) const {
    const auto next = first_ending_at_or_above(range.first);
    if (next == ranges_.end() || next->first > range.last) return std::nullopt;
    return std::max(next->first, range.first);
  }

  /// `range` lies above all that is there.
  void add(RankRange range) { ranges_.push_back(range); }

  /// The largest rank; -1 where there is none.
  std::int64_t last() const { return ranges_.empty() ? -1 : ranges_.back().last; }

 private:
  std::vector<RankRange>::const_iterator first_ending_at_or_above(std::int64_t rank) const {
    if (rank > last()) return ranges_.end();  // As in every sound text.
    return std::lower_bound(
        ranges_.begin(), ranges_.end(), rank, [](const RankRange& range, std::int64_t r) {
          return range.last < r;
        });
  }

  std::vector<RankRange> ranges_;
};

/// Ranks of one side of an entry: as read, even where they are wrong, and whether they are.
struct Side {
  std::optional<RankRange> range;  ///< Nothing where it cannot be told.
  bool told = false;
};

/// Reads entry by entry. After an error the numbering goes on as the text means it, as far as that
/// can be told, so that one mistake is told once.
class EntryReader {
 public:
  EntryReader(TextPosition at, const ResourceFacts& facts, const ErrorSink& errors)
      : at_(at), facts_(facts), errors_(errors) {}

  void read(const TextPiece& piece);

  /// The sound entries read so far, and whether they are all.
  PlacementEntries take() { return {std::move(entries_), sound_}; }

 private:
  Side read_resources(const TextPiece& piece);
  Side read_processes(const TextPiece& piece, const TextPiece& resources);
  Side number_processes(const Side& resources, const TextPiece& piece);

  /// Tells what is wrong with the form of a range that is not "all". `what` is "resource ranks".
  Side check_form(const RangeReading& reading, const TextPiece& piece, std::string_view what);

  /// A remedy that writes `processes` processes where the numbering stands.
  std::string renumbered(const TextPiece& resources, RankRange processes) const;

  bool fits(const RankRange& processes, const TextPiece& piece);
  bool divides(const RankRange& resources, const RankRange& processes, const TextPiece& piece);

  void advance_to(std::int64_t next) { next_process_ = std::min(next, 2 * kRankCeiling); }

  TextPosition place(const TextPiece& piece) const { return at_.plus(piece.offset); }

  Side tell(ErrorKind kind, const TextPiece& piece, ErrorWords words) {
    errors_.add(kind, place(piece), std::move(words));
    return {std::nullopt, true};
  }

  TextPosition at_;
  const ResourceFacts& facts_;
  const ErrorSink& errors_;
  RankSet resources_;
  RankSet processes_;
  std::optional<std::int64_t> next_process_ = 0;  ///< Nothing where it cannot be told.
  bool sound_ = true;
  std::vector<PlacementEntry> entries_;
};

void EntryReader::read(const TextPiece& piece) {
  const std::size_t colon = std::min(piece.text.find(':'), piece.text.size());
  const bool numbered = colon < piece.text.size();
  const std::string_view rest = numbered ? piece.text.substr(colon + 1) : std::string_view{};
  if (rest.find(':') != std::string_view::npos) {
    next_process_.reset();
    sound_ = false;
    tell(ErrorKind::EntryMalformed,
         {":", piece.offset + colon + 1 + rest.find(':')},
         {"entry " + in_quotes(piece.text) + " with more than one colon",
          "resource ranks and at most one colon, before process ranks",
          "remove the second colon, or begin a new entry with a comma"});
    return;
  }
  const TextPiece left = trimmed({piece.text.substr(0, colon), piece.offset});
  const TextPiece right = trimmed({rest, piece.offset + colon + 1});
  const Side resources = read_resources(left);
  Side processes;
  if (!numbered) {
    processes = number_processes(resources, piece);
  } else if (!resources.told) {
    processes = read_processes(right, left);
  } else if (!right.text.empty()) {
    // What is on the right is not judged, but it says where the numbering goes on.
    const RangeReading reading = read_range(right.text);
    if (!reading.fault && !reading.all) processes.range = reading.range;
  }
  if (processes.range) {
    advance_to(processes.range->last + 1);
    if (processes.range->first > processes_.last()) processes_.add(*processes.range);
  } else {
    next_process_.reset();
  }
  const bool known = !resources.told && !processes.told && resources.range && processes.range;
  if (!known || !divides(*resources.range, *processes.range, piece)) {
    sound_ = false;
    return;
  }
  PlacementEntry entry{piece.offset, *resources.range, *processes.range, std::nullopt};
  if (numbered) entry.processes_offset = right.offset;
  entries_.push_back(entry);
}

Side EntryReader::check_form(const RangeReading& reading,
                             const TextPiece& piece,
                             std::string_view what) {
  if (!reading.fault) return {reading.range, false};
  const std::string noun(what);
  if (reading.fault == ErrorKind::RankFormat) {
    return tell(ErrorKind::RankFormat,
                piece,
                {noun + ' ' + in_quotes(piece.text),
                 "a rank such as 3 or a range such as 0-3, in digits",
                 "write ranks in digits, for example 0-3"});
  }
  Side side = tell(ErrorKind::RangeReversed,
                   piece,
                   {noun + ' ' + in_quotes(piece.text),
                    "a range whose first rank is not above its last",
                    "write '" + to_text(reading.range) + "'"});
  side.range = reading.range;
  return side;
}

Side EntryReader::read_resources(const TextPiece& piece) {
  constexpr std::string_view kWhat = "resource ranks";
  if (piece.text.empty()) {
    return tell(ErrorKind::ResourceEmpty,
                piece,
                {"no resource ranks before the colon",
                 "the ranks of at least one resource",
                 "write a rank, a range or 'all' before the colon"});
  }
  Side side;
  const RangeReading reading = read_range(piece.text);
  if (reading.all) {
    if (!facts_.count) return side;
    if (*facts_.count == 0) {
      return tell(ErrorKind::ResourceEmpty,
                  piece,
                  {"'all' of no resources",
                   "a selection with at least one resource",
                   "declare hardware for the group or choose another one"});
    }
    side.range = RankRange{0, *facts_.count - 1};
  } else {
    side = check_form(reading, piece, kWhat);
    if (side.told) return side;
  }
  const RankRange range = *side.range;
  if (facts_.count && range.last >= *facts_.count) {
    tell(ErrorKind::ResourceOutOfRange,
         piece,
         {"resource ranks " + in_quotes(piece.text) + " of " +
              counted(*facts_.count, facts_.nodes ? "node" : "resource"),
          *facts_.count == 0 ? "resources, and the selection has none"
                             : "ranks within " + to_text({0, *facts_.count - 1}) + " (" +
                                   std::string(facts_.where) + ")",
          *facts_.count > range.first
              ? "write '" + to_text({range.first, *facts_.count - 1}) + "' or add resources"
              : "choose ranks that exist or add resources"});
    return {range, true};
  }
  if (const auto shared = resources_.find_shared(range)) {
    tell(ErrorKind::ResourceDuplicate,
         piece,
         {"resource rank " + std::to_string(*shared) + " a second time in " + in_quotes(piece.text),
          "every resource in one entry only",
          "write 'r:p-q' in one entry where processes p to q share a resource r"});
    return {range, true};
  }
  if (range.first < resources_.last()) {
    tell(ErrorKind::ResourceNotAscending,
         piece,
         {"resource ranks " + in_quotes(piece.text) + " after rank " +
              std::to_string(resources_.last()),
          "entries in ascending order of resource ranks",
          "move the entry to the front, in order of resource ranks"});
    return {range, true};
  }
  resources_.add(range);
  return side;
}

std::string EntryReader::renumbered(const TextPiece& resources, RankRange processes) const {
  const RankRange right{*next_process_, *next_process_ + processes.count() - 1};
  return "write '" + std::string(resources.text) + ':' + to_text(right) + "'";
}

Side EntryReader::read_processes(const TextPiece& piece, const TextPiece& resources) {
  if (piece.text.empty()) {
    return tell(ErrorKind::ProcessEmpty,
                {"", resources.offset + resources.text.size()},
                {"no process ranks after the colon",
                 "the ranks of at least one process",
                 "write process ranks after the colon, or remove it for one process a resource"});
  }
  const RangeReading reading = read_range(piece.text);
  if (reading.all) {
    return tell(ErrorKind::ProcessAll,
                piece,
                {"process ranks " + in_quotes(piece.text),
                 "process ranks in numbers, for they say how many processes there are",
                 "write a range such as 0-3, or no colon for one process a resource"});
  }
  Side side = check_form(reading, piece, "process ranks");
  if (side.told) return side;
  const RankRange range = *side.range;
  const auto shared = processes_.find_shared(range);
  side.told = true;
  if (shared) {
    tell(ErrorKind::ProcessDuplicate,
         piece,
         {"process rank " + std::to_string(*shared) + " a second time in " + in_quotes(piece.text),
          "every process in one entry only",
          next_process_ ? renumbered(resources, range) : "number the processes through"});
  } else if (next_process_ && *next_process_ == 0 && range.first != 0) {
    tell(ErrorKind::ProcessNotFromZero,
         piece,
         {"process ranks " + in_quotes(piece.text),
          "process ranks that begin at 0",
          renumbered(resources, range)});
  } else if (next_process_ && range.first != *next_process_) {
    tell(ErrorKind::ProcessNotContinuous,
         piece,
         {"process ranks " + in_quotes(piece.text),
          "process ranks that begin at " + std::to_string(*next_process_),
          renumbered(resources, range)});
  } else {
    side.told = !fits(range, piece);
  }
  return side;
}

Side EntryReader::number_processes(const Side& resources, const TextPiece& piece) {
  if (!resources.range || !next_process_) return {};
  const std::int64_t first = *next_process_;
  const RankRange range{first, first + resources.range->count() - 1};
  return {range, !resources.told && !fits(range, piece)};
}

bool EntryReader::fits(const RankRange& processes, const TextPiece& piece) {
  if (processes.last < kProcessesMax) return true;
  tell(ErrorKind::RankFormat,
       piece,
       {"process ranks " + to_text(processes),
        "at most " + std::to_string(kProcessesMax) + " processes",
        "write process ranks below " + std::to_string(kProcessesMax)});
  return false;
}

bool EntryReader::divides(const RankRange& resources,
                          const RankRange& processes,
                          const TextPiece& piece) {
  const std::int64_t r = resources.count();
  const std::int64_t p = processes.count();
  if (r % p == 0 || p % r == 0) return true;
  const std::int64_t nearest = p < r ? r : p - p % r;
  const RankRange suggestion{processes.first, processes.first + nearest - 1};
  tell(ErrorKind::NotDivisible,
       piece,
       {counted(p, "process") + " for " + counted(r, "resource") + " in " + in_quotes(piece.text),
        "a number of processes that divides the number of resources, or the reverse",
        "write '" + to_text(resources) + ':' + to_text(suggestion) + "'"});
  return false;
}

/// Rule P17 where nodes are the resource: a process cannot have two of them.
bool check_nodes(const PlacedText& text,
                 const std::vector<PlacementEntry>& entries,
                 const ErrorSink& errors) {
  bool sound = true;
  for (const PlacementEntry& entry : entries) {
    if (entry.resources.count() <= entry.processes.count()) continue;
    sound = false;
    const RankRange enough{entry.processes.first,
                           entry.processes.first + entry.resources.count() - 1};
    errors.add(ErrorKind::ProcessSpansNodes,
               text.at.plus(entry.offset),
               {counted(entry.processes.count(), "process") + " for " +
                    counted(entry.resources.count(), "node"),
                "at least one process a node, for a process runs on one node",
                "write '" + to_text(entry.resources) + ':' + to_text(enough) + "'"});
  }
  return sound;
}

}  // namespace

PlacementEntries read_placement(const PlacedText& text,
                                const ResourceFacts& resources,
                                const ErrorSink& errors) {
  EntryReader reader(text.at, resources, errors);
  bool empty = true;
  for (const TextPiece& piece : split_trimmed({text.text, 0}, ',')) {
    if (piece.text.empty()) continue;  // Rule P1: empty entries are ignored.
    empty = false;
    reader.read(piece);
  }
  PlacementEntries out = reader.take();
  if (empty) {
    out.sound = false;
    errors.add(ErrorKind::PlacementEmpty,
               text.at,
               {"a placement without entries",
                "at least one entry",
                "write resource ranks, for example 0-3 or all"});
  } else if (resources.nodes) {
    out.sound = check_nodes(text, out.entries, errors) && out.sound;
  }
  return out;
}

}  // namespace orrery::placement
