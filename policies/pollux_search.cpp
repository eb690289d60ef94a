#include "policies/pollux_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/invariant.hpp"
#include "core/base/math.hpp"
#include "policies/pollux_cells.hpp"

namespace orrery::policies {

namespace {

// What a row without replicas is worth, so that its power exists.
constexpr double kFloor = 1e-3;
// Probabilities, in 65536ths: that two parents are crossed; that a row goes back to what it is now;
// that a row loses replicas, and then each of its nodes its own.
constexpr std::uint64_t kCrossover = 58982;
constexpr std::uint64_t kTenth = 6554;
// Offspring that equal a member are thrown away; at most so many times the population are bred.
constexpr std::int32_t kBreedingMax = 2;

/// One member of a generation. Cells are rows of whole words.
struct Member {
  std::vector<std::uint8_t> cells;
  std::vector<ReplicaSpread> rows;  ///< Nodes and replicas of each.
  std::uint64_t hash = 0;
  double fitness = 0;  ///< Grows with the generalised mean.
  double utility = 0;  ///< The second objective.
  double speedups = 0;
  std::uint32_t front = 0;
  double crowding = 0;
};

/// What members are ranked by.
struct MemberRank {
  double fitness = 0;
  double utility = 0;
  std::uint64_t hash = 0;
  std::uint32_t member = 0;  ///< Of the pool.
};

/// What a row is worth in the sum that the fitness is, by its size.
class RowWorth {
 public:
  struct Value {
    double worth = -1;  ///< As it is now; with `moved` where it is not. Not asked yet: `known` no.
    double moved = 0;
    double speedup = 0;
    bool known = false;
  };

  Value& at(ReplicaSpread spread) {
    std::vector<Value>& values = values_[spread.nodes > 1 ? 1 : 0];
    const auto replicas = static_cast<std::size_t>(spread.replicas);
    if (values.size() <= replicas) values.resize(replicas + 1);
    return values[replicas];
  }

 private:
  std::array<std::vector<Value>, 2> values_;
};

class Search {
 public:
  Search(const SearchProblem& problem,
         Speedups& speedups,
         const SearchOptions& options,
         Random& random);

  SearchResult run(const std::vector<AllocationMatrix>& starts);

 private:
  std::vector<std::uint8_t> padded(const AllocationMatrix& matrix) const;
  AllocationMatrix unpadded(const std::vector<std::uint8_t>& cells) const;

  const Member& tournament();
  void cross(const Member& a, const Member& b, Member& first, Member& second);
  void mutate(Member& member);
  void mutate_node(Member& member, std::size_t node);
  void grow_cell(Member& member, std::size_t row, std::size_t node);
  void count_use(const Member& member);
  void repair(Member& member);
  void part_distributed(Member& member);
  void clip_row(Member& member, std::size_t row);
  void clip_node(Member& member, std::size_t node);
  void measure_row(Member& member, std::size_t row) const;
  void evaluate(Member& member);
  const RowWorth::Value& worth_of(std::size_t row, ReplicaSpread spread);
  double powered(double speedup) const;

  Member& fresh();
  bool admit(Member& member);
  void breed();
  void rank();
  void crowd(std::size_t first, std::size_t last);
  void survive();

  const SearchProblem& problem_;
  Speedups& speedups_;
  const SearchOptions& options_;
  Random& random_;
  std::size_t rows_;
  std::size_t nodes_;
  std::size_t words_;   ///< Of a row.
  std::size_t stride_;  ///< Bytes of a row.
  double scale_;        ///< From a speedup to nodes' worth.
  std::vector<std::uint8_t> current_;
  std::vector<RowWorth> worths_;

  std::vector<Member> pool_;
  std::vector<std::uint32_t> members_;  ///< Of the pool; parents first, while they breed.
  std::vector<std::uint32_t> spare_;    ///< Of the pool, whose memory waits.
  std::size_t parents_ = 0;
  std::vector<std::uint64_t> known_;  ///< Hashes of the members, those of the parents sorted.

  NodeUse use_;
  NodeRows on_nodes_;
  std::vector<std::uint64_t> owned_;  ///< Scratch, by word: bytes of nodes with a distributed row.
  std::vector<std::uint64_t> used_;   ///< Scratch, by word: bytes of nodes with replicas.
  std::vector<std::uint32_t> order_;  ///< Scratch: nodes in random order.
  std::vector<std::uint32_t> by_front_;  ///< Scratch.
  std::vector<MemberRank> ranks_;        ///< Scratch.
};

Search::Search(const SearchProblem& problem,
               Speedups& speedups,
               const SearchOptions& options,
               Random& random)
    : problem_(problem),
      speedups_(speedups),
      options_(options),
      random_(random),
      rows_(problem.rows.size()),
      nodes_(problem.nodes()),
      words_((nodes_ + kWord - 1) / kWord),
      stride_(words_ * kWord),
      scale_(static_cast<double>(nodes_) / static_cast<double>(problem.devices_in_all())),
      current_(padded(problem.current)),
      worths_(rows_),
      on_nodes_(words_ * kWord, rows_),
      owned_(words_),
      used_(words_),
      order_(nodes_) {}

std::vector<std::uint8_t> Search::padded(const AllocationMatrix& matrix) const {
  std::vector<std::uint8_t> cells(rows_ * stride_, 0);
  for (std::size_t row = 0; row < rows_; ++row)
    std::memcpy(cells.data() + row * stride_, matrix.data() + row * nodes_, nodes_);
  return cells;
}

AllocationMatrix Search::unpadded(const std::vector<std::uint8_t>& cells) const {
  AllocationMatrix matrix(rows_ * nodes_);
  for (std::size_t row = 0; row < rows_; ++row)
    std::memcpy(matrix.data() + row * nodes_, cells.data() + row * stride_, nodes_);
  return matrix;
}

// --- parents ---

const Member& Search::tournament() {
  const Member& a = pool_[members_[random_.below(parents_)]];
  const Member& b = pool_[members_[random_.below(parents_)]];
  if (a.front != b.front) return a.front < b.front ? a : b;
  return a.crowding >= b.crowding ? a : b;
}

/// Both take their parent's rows, but the first ones of the other's where they are crossed.
void Search::cross(const Member& a, const Member& b, Member& first, Member& second) {
  first.cells = a.cells;
  second.cells = b.cells;
  if ((random_.bits() & 0xffff) >= kCrossover) return;
  const std::size_t bytes = random_.below(rows_) * stride_;
  if (bytes == 0) return;
  std::memcpy(first.cells.data(), b.cells.data(), bytes);
  std::memcpy(second.cells.data(), a.cells.data(), bytes);
}

// --- mutation ---

void Search::mutate(Member& member) {
  std::uint64_t bits = 0;
  for (std::size_t row = 0; row < rows_; ++row, bits >>= 16) {
    if (row % 2 == 0) bits = random_.bits();
    std::uint8_t* cells = member.cells.data() + row * stride_;
    if ((bits & 0xffff) < kTenth) std::memcpy(cells, current_.data() + row * stride_, stride_);
    bits >>= 16;
    if ((bits & 0xffff) >= kTenth) continue;
    for (std::size_t node = 0; node < nodes_; ++node)
      if (cells[node] != 0 && (random_.bits() & 0xffff) < kTenth) cells[node] = 0;
  }
  count_use(member);
  for (std::size_t node = 0; node < nodes_; ++node)
    if (use_.at(node) < problem_.devices[node]) mutate_node(member, node);
}

/// Each row grows on the node with a probability of one over their number, and each that is there
/// already with one over the number of those.
void Search::mutate_node(Member& member, std::size_t node) {
  const std::span<const std::uint32_t> there = on_nodes_.at(node);
  for (const std::uint32_t row : there)
    if (random_.below(there.size()) == 0) grow_cell(member, row, node);
  // As many rows as a Poisson variable of mean 1 says, the limit of the binomial one.
  constexpr std::uint64_t at_most[] = {24109, 48219, 60273, 64291, 65296};
  const std::uint64_t drawn = random_.bits() & 0xffff;
  for (const std::uint64_t share : at_most) {
    if (drawn < share) return;
    grow_cell(member, random_.below(rows_), node);
  }
}

void Search::grow_cell(Member& member, std::size_t row, std::size_t node) {
  std::uint8_t& cell = member.cells[row * stride_ + node];
  const std::uint8_t most = problem_.rows[row].room[node];
  if (cell >= most) return;
  cell = static_cast<std::uint8_t>(cell + random_.below(std::uint64_t{most} - cell + 1));
}

// --- repair ---

void Search::count_use(const Member& member) {
  use_.clear(words_);
  on_nodes_.clear();
  const std::uint8_t* cells = member.cells.data();
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto each = static_cast<std::uint64_t>(problem_.rows[row].devices_each);
    for (std::size_t word = 0; word < words_; ++word, cells += kWord) {
      const std::uint64_t replicas = word_at(cells);
      if (replicas == 0) continue;
      use_.add(word, replicas, each);
      on_nodes_.add(word, replicas, row);
    }
  }
}

void Search::measure_row(Member& member, std::size_t row) const {
  ReplicaSpread spread{0, 0};
  const std::uint8_t* cells = member.cells.data() + row * stride_;
  for (std::size_t word = 0; word < words_; ++word) {
    const std::uint64_t eight = word_at(cells + word * kWord);
    spread.nodes += nonzero_bytes(eight);
    spread.replicas += sum_of_bytes(eight);
  }
  member.rows[row] = spread;
}

/// Makes the member fit, and counts what its rows have.
void Search::repair(Member& member) {
  for (std::size_t row = 0; row < rows_; ++row) measure_row(member, row);
  if (options_.avoid_interference) part_distributed(member);
  for (std::size_t row = 0; row < rows_; ++row)
    if (member.rows[row].replicas > problem_.rows[row].replicas_max) clip_row(member, row);
  count_use(member);
  for (std::size_t node = 0; node < nodes_; ++node)
    if (use_.at(node) > problem_.devices[node]) clip_node(member, node);
  for (std::size_t row = 0; row < rows_; ++row) {
    if (member.rows[row].replicas >= problem_.rows[row].replicas_min) continue;
    if (member.rows[row].replicas == 0) continue;
    std::memset(member.cells.data() + row * stride_, 0, stride_);
    member.rows[row] = {0, 0};
  }
}

/// A node is left to the first of the rows there that are on several nodes.
void Search::part_distributed(Member& member) {
  bool first = true;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (member.rows[row].nodes < 2) continue;
    if (std::exchange(first, false)) std::fill(owned_.begin(), owned_.end(), std::uint64_t{0});
    std::uint8_t* cells = member.cells.data() + row * stride_;
    bool changed = false;
    for (std::size_t word = 0; word < words_; ++word, cells += kWord) {
      const std::uint64_t replicas = word_at(cells);
      const std::uint64_t there = (nonzero_marks(replicas) >> 7) * 0xff;
      if ((there & owned_[word]) != 0) {
        store_little_endian(cells, replicas & ~owned_[word]);
        changed = true;
      }
      owned_[word] |= there;
    }
    if (changed) measure_row(member, row);
  }
}

/// Leaves the row its most replicas, on nodes in random order.
void Search::clip_row(Member& member, std::size_t row) {
  std::uint8_t* cells = member.cells.data() + row * stride_;
  std::int32_t left = problem_.rows[row].replicas_max;
  std::iota(order_.begin(), order_.end(), 0u);
  random_.shuffle(order_);
  for (const std::uint32_t node : order_) {
    cells[node] = static_cast<std::uint8_t>(std::min<std::int32_t>(cells[node], left));
    left -= cells[node];
  }
  measure_row(member, row);
}

/// The first rows keep what they have on the node as far as it goes.
void Search::clip_node(Member& member, std::size_t node) {
  std::int32_t left = problem_.devices[node];
  for (const std::uint32_t row : on_nodes_.at(node)) {
    std::uint8_t& cell = member.cells[row * stride_ + node];
    const std::int32_t each = problem_.rows[row].devices_each;
    const std::int32_t kept = std::min<std::int32_t>(cell, each == 1 ? left : left / each);
    member.rows[row].replicas -= cell - kept;
    if (kept == 0) --member.rows[row].nodes;
    cell = static_cast<std::uint8_t>(kept);
    left -= kept * each;
  }
}

// --- evaluation ---

double Search::powered(double speedup) const {
  const double floored = speedup + kFloor;
  const double p = options_.fairness;
  if (p == -1) return 1 / floored;
  if (p == 0) return math::log(floored);
  if (p == 1) return floored;
  return math::pow(floored, p);
}

const RowWorth::Value& Search::worth_of(std::size_t row, ReplicaSpread spread) {
  RowWorth::Value& value = worths_[row].at(spread);
  if (value.known) return value;
  value.known = true;
  value.speedup = spread.replicas > 0 ? speedups_.at(row, spread) : 0;
  const double counted = value.speedup * scale_;
  value.worth = powered(counted);
  value.moved = powered(counted * problem_.rows[row].change_factor);
  return value;
}

std::uint64_t hash_of(const std::vector<std::uint8_t>& cells) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < cells.size(); at += kWord) {
    hash = (hash ^ word_at(cells.data() + at)) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

/// `repair` has counted its rows.
void Search::evaluate(Member& member) {
  double sum = 0;
  double speedups = 0;
  std::fill(used_.begin(), used_.end(), std::uint64_t{0});
  const std::uint8_t* cells = member.cells.data();
  const std::uint8_t* current = current_.data();
  for (std::size_t row = 0; row < rows_; ++row) {
    std::uint64_t differs = 0;
    for (std::size_t word = 0; word < words_; ++word, cells += kWord, current += kWord) {
      const std::uint64_t replicas = word_at(cells);
      differs |= replicas ^ word_at(current);
      used_[word] |= replicas;
    }
    const RowWorth::Value& value = worth_of(row, member.rows[row]);
    sum += differs != 0 ? value.moved : value.worth;
    speedups += value.speedup;
  }
  std::int64_t active = 0;
  for (std::size_t node = 0; node < nodes_; ++node)
    if ((used_[node / kWord] >> (node % kWord * 8) & 0xff) != 0) active += problem_.devices[node];
  // Every power mean grows with this, whichever the power.
  member.fitness = options_.fairness < 0 ? -sum : sum;
  member.speedups = speedups;
  member.utility = active > 0 ? speedups / static_cast<double>(active) : 0;
  member.hash = hash_of(member.cells);
}

// --- generations ---

/// Memory for one more member.
Member& Search::fresh() {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(pool_.size()));
    Member& member = pool_.emplace_back();
    member.cells.resize(rows_ * stride_);
    member.rows.resize(rows_);
  }
  return pool_[spare_.back()];
}

/// Takes up the member that `fresh` gave out last, unless there is one like it.
bool Search::admit(Member& member) {
  const auto parents_end = known_.begin() + static_cast<std::ptrdiff_t>(parents_);
  if (std::binary_search(known_.begin(), parents_end, member.hash)) return false;
  if (std::find(parents_end, known_.end(), member.hash) != known_.end()) return false;
  known_.push_back(member.hash);
  members_.push_back(spare_.back());
  spare_.pop_back();
  return true;
}

void Search::breed() {
  parents_ = members_.size();
  known_.clear();
  for (const std::uint32_t member : members_) known_.push_back(pool_[member].hash);
  std::sort(known_.begin(), known_.end());
  const std::size_t wanted = parents_ + static_cast<std::size_t>(options_.population);
  // Offspring come in pairs; the pool must not move while both are made.
  pool_.reserve(wanted + 2);
  Member second;
  second.rows.resize(rows_);
  for (std::int32_t bred = 0; bred < kBreedingMax * options_.population && members_.size() < wanted;
       bred += 2) {
    Member& first = fresh();
    // The second parent is drawn first: decisions of recorded runs depend on it.
    const Member& b = tournament();
    const Member& a = tournament();
    cross(a, b, first, second);
    for (int each = 0; each < 2 && members_.size() < wanted; ++each) {
      Member& child = fresh();
      if (each == 1) child.cells = second.cells;
      mutate(child);
      repair(child);
      evaluate(child);
      admit(child);
    }
  }
}

/// Gives each member the number of its front: none of a front is at least as good in both
/// objectives as another of it, and better in one. Members lie by front then, and by descending
/// fitness within each.
void Search::rank() {
  ranks_.clear();
  for (const std::uint32_t index : members_) {
    const Member& member = pool_[index];
    ranks_.push_back({member.fitness, member.utility, member.hash, index});
  }
  std::sort(ranks_.begin(), ranks_.end(), [](const MemberRank& a, const MemberRank& b) {
    if (a.fitness != b.fitness) return a.fitness > b.fitness;
    return a.utility != b.utility ? a.utility > b.utility : a.hash < b.hash;
  });
  // By descending fitness, a front takes members of ascending utility; each member goes to the
  // first front that can take it, and what fronts took last descends from front to front.
  std::vector<const MemberRank*> last;
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    const MemberRank& rank = ranks_[place];
    members_[place] = rank.member;
    const auto found = std::partition_point(last.begin(), last.end(), [&](const MemberRank* l) {
      return !(rank.utility > l->utility ||
               (rank.utility == l->utility && rank.fitness == l->fitness));
    });
    pool_[rank.member].front = static_cast<std::uint32_t>(found - last.begin());
    if (found == last.end())
      last.push_back(&rank);
    else
      *found = &rank;
  }
  // Sorted by counting: the order within a front stays.
  std::vector<std::uint32_t> starts(last.size() + 1, 0);
  for (const std::uint32_t index : members_) ++starts[pool_[index].front + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  by_front_.resize(members_.size());
  for (const std::uint32_t index : members_) by_front_[starts[pool_[index].front]++] = index;
  members_.swap(by_front_);
}

/// Crowding distances of one front, which lies in order of fitness.
void Search::crowd(std::size_t first, std::size_t last) {
  constexpr double endless = 1e300;
  const auto at = [&](std::size_t i) -> Member& { return pool_[members_[i]]; };
  const double fitness = at(first).fitness - at(last - 1).fitness;
  const double utility = at(last - 1).utility - at(first).utility;
  for (std::size_t i = first; i < last; ++i) {
    double distance = 0;
    if (i == first || i + 1 == last) {
      distance = endless;
    } else {
      if (fitness > 0) distance += (at(i - 1).fitness - at(i + 1).fitness) / fitness;
      if (utility > 0) distance += (at(i + 1).utility - at(i - 1).utility) / utility;
    }
    at(i).crowding = distance;
  }
}

/// Keeps whole fronts while they fit, and of the next the members that stand apart most.
void Search::survive() {
  rank();
  const auto population = static_cast<std::size_t>(options_.population);
  std::size_t first = 0;
  while (first < std::min(members_.size(), population)) {
    std::size_t last = first;
    while (last < members_.size() && pool_[members_[last]].front == pool_[members_[first]].front)
      ++last;
    crowd(first, last);
    if (last > population)
      std::stable_sort(
          members_.begin() + static_cast<std::ptrdiff_t>(first),
          members_.begin() + static_cast<std::ptrdiff_t>(last),
          [&](std::uint32_t a, std::uint32_t b) { return pool_[a].crowding > pool_[b].crowding; });
    first = last;
  }
  while (members_.size() > population) {
    spare_.push_back(members_.back());
    members_.pop_back();
  }
}

SearchResult Search::run(const std::vector<AllocationMatrix>& starts) {
  for (std::size_t i = 0; i <= starts.size(); ++i) {
    Member& member = fresh();
    member.cells = i == 0 ? current_ : padded(starts[i - 1]);
    repair(member);
    evaluate(member);
    admit(member);
  }
  survive();
  SearchResult result;
  const auto fittest = [&] {
    const auto best =
        std::max_element(members_.begin(), members_.end(), [&](std::uint32_t a, std::uint32_t b) {
          return pool_[a].fitness < pool_[b].fitness;
        });
    return pool_[*best].fitness;
  };
  double best = fittest();
  const auto generation_cells =
      static_cast<std::int64_t>(rows_ * nodes_) * std::int64_t{options_.population};
  std::int64_t generations = options_.generations;
  if (options_.budget > 0)
    generations = std::clamp<std::int64_t>(options_.budget / generation_cells, 1, generations);
  for (std::int32_t idle = 0; result.generations < generations && idle < options_.patience;
       ++result.generations) {
    breed();
    survive();
    const double reached = fittest();
    idle = reached > best ? 0 : idle + 1;
    best = reached;
  }
  result.cells = result.generations * generation_cells;
  rank();
  result.best = unpadded(pool_[members_.front()].cells);
  result.fitness = pool_[members_.front()].fitness;
  result.speedups = pool_[members_.front()].speedups;
  for (const std::uint32_t member : members_) {
    if (pool_[member].front > 0) break;
    result.front.push_back(unpadded(pool_[member].cells));
  }
  return result;
}

}  // namespace

std::int64_t SearchProblem::devices_in_all() const {
  return std::accumulate(devices.begin(), devices.end(), std::int64_t{0});
}

SearchResult search_allocations(const SearchProblem& problem,
                                Speedups& speedups,
                                const SearchOptions& options,
                                const std::vector<AllocationMatrix>& starts,
                                Random& random) {
  invariant(!problem.rows.empty() && problem.devices_in_all() > 0,
            "a search has rows and devices to share");
  return Search(problem, speedups, options, random).run(starts);
}

}  // namespace orrery::policies
