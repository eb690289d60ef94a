#include "sim/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "sim/search/enumeration.hpp"

namespace orrery::sim {
namespace {

constexpr std::int32_t kStepsMax = 512;  // So many sizes of a pool at most.
constexpr std::size_t kRefined = 8;      // So many of the best placements are looked around.

/// What decides between two: nanoseconds, so that rounding in other orders of sums does not.
auto rank_of(const Prediction& prediction) {
  return std::tuple(std::llround(prediction.step_s * 1e9),
                    prediction.devices,
                    prediction.candidate.micro_batches,
                    prediction.candidate.layout);
}

/// Equal where all roles are on the same devices.
std::vector<std::int32_t> place_key(const Prediction& prediction) {
  std::vector<std::int32_t> key;
  for (const RolePlaces& places : prediction.places) {
    key.push_back(static_cast<std::int32_t>(places.runs.size()));
    for (const DeviceRun& run : places.runs)
      key.insert(key.end(), {run.node, run.first, run.devices});
  }
  return key;
}

/// Equal where the same roles share devices.
std::vector<std::int32_t> sharing_key(const Candidate& candidate) {
  std::vector<std::vector<std::int32_t>> pools;
  for (const Pool& pool : candidate.pools) pools.push_back(pool.roles);
  std::sort(pools.begin(), pools.end());
  std::vector<std::int32_t> key{candidate.generates_everywhere ? 1 : 0};
  for (const std::vector<std::int32_t>& roles : pools) {
    key.push_back(static_cast<std::int32_t>(roles.size()));
    key.insert(key.end(), roles.begin(), roles.end());
  }
  return key;
}

/// Equal where candidates are.
std::vector<std::int32_t> candidate_key(const Candidate& candidate) {
  std::vector<std::int32_t> key{candidate.generates_everywhere ? 1 : 0,
                                static_cast<std::int32_t>(candidate.layout),
                                candidate.first_node,
                                candidate.micro_batches};
  for (const Pool& pool : candidate.pools) {
    key.push_back(pool.devices);
    key.push_back(static_cast<std::int32_t>(pool.roles.size()));
    key.insert(key.end(), pool.roles.begin(), pool.roles.end());
  }
  return key;
}

/// Predicts candidates and keeps what can be placed.
class Search {
 public:
  Search(const SearchedJob& job, Predictor& predictor, const std::function<bool()>& stop)
      : job_(job), predictor_(predictor), stop_(stop) {}

  void try_all(const std::vector<Sharing>& sharings, std::int32_t step) {
    for_each_candidate(job_, sharings, step, [&](const Candidate& one) { return try_one(one); });
    sort();
  }

  /// Looks around the best, in smaller and smaller steps.
  void refine(std::int32_t step) {
    for (const Prediction& one : found_) known_.insert(candidate_key(one.candidate));
    for (; step >= 1 && !stopped_; step /= 2) {
      for (bool better = true; better && !stopped_;) {
        const std::int64_t best = std::llround(found_.front().step_s * 1e9);
        for (const Candidate& one : around_the_best(step))
          if (known_.insert(candidate_key(one)).second && !try_one(one)) break;
        sort();
        better = std::llround(found_.front().step_s * 1e9) < best;
      }
    }
  }

  bool is_empty() const { return found_.empty(); }

  bool is_stopped() const { return stopped_; }

  SearchResult take() {
    SearchResult out;
    out.tried = tried_;
    out.stopped = stopped_;
    std::set<std::vector<std::int32_t>> seen;
    for (Prediction& one : found_)
      if (seen.insert(place_key(one)).second) out.found.push_back(std::move(one));
    return out;
  }

 private:
  // False: the search is to end.
  bool try_one(const Candidate& candidate) {
    stopped_ = stopped_ || (stop_ && stop_());
    if (stopped_) return false;
    auto prediction = predictor_.predict(candidate);
    if (!prediction) return true;
    ++tried_;
    found_.push_back(*std::move(prediction));
    return true;
  }

  // Of several candidates that place all roles alike the first stands for all. The best way to
  // share in coarse steps need not be that in fine ones.
  std::vector<Candidate> around_the_best(std::int32_t step) const {
    std::set<std::vector<std::int32_t>> places;
    std::set<std::vector<std::int32_t>> sharings;
    std::vector<Candidate> around;
    for (const Prediction& one : found_) {
      const bool is_best = places.size() < kRefined && places.insert(place_key(one)).second;
      const bool is_first = sharings.insert(sharing_key(one.candidate)).second;
      if (!is_best && !is_first) continue;
      for (Candidate& next : neighbours(job_, one.candidate, step))
        around.push_back(std::move(next));
    }
    return around;
  }

  // Best first.
  void sort() {
    std::stable_sort(found_.begin(), found_.end(), [](const Prediction& a, const Prediction& b) {
      return rank_of(a) < rank_of(b);
    });
  }

  const SearchedJob& job_;
  Predictor& predictor_;
  const std::function<bool()>& stop_;
  std::vector<Prediction> found_;
  std::set<std::vector<std::int32_t>> known_;  // By candidate_key, once the best are refined.
  std::int64_t tried_ = 0;
  bool stopped_ = false;
};

Error error_of(const SearchedJob& job, std::string message) {
  Error error;
  error.file = job.scenario->file;
  error.subject = "job " + job.name;
  error.message = std::move(message);
  return error;
}

/// Each role with the replicas that stand in the file, no more and no fewer.
SearchedJob job_as_written(const SearchedJob& job) {
  SearchedJob out = job;
  for (SearchedRole& role : out.roles) role.min_replicas = role.max_replicas = role.reference;
  return out;
}

/// The best of a job's roles on devices of their own, in any order on the nodes.
Result<std::optional<Prediction>> predict_written(const SearchedJob& job, std::int32_t turns) {
  auto predictor = Predictor::make(job, turns);
  if (!predictor) return predictor.errors();
  Candidate candidate;
  std::vector<std::int32_t> roles;
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    if (job.roles[r].is_placed()) roles.push_back(static_cast<std::int32_t>(r));
  std::optional<Prediction> best;
  do {
    candidate.pools.clear();
    for (const std::int32_t r : roles) {
      const SearchedRole& role = job.roles[static_cast<std::size_t>(r)];
      candidate.pools.push_back({{r}, role.width * role.reference});
    }
    for (const PoolLayout layout : {PoolLayout::Packed, PoolLayout::Aligned, PoolLayout::Spread}) {
      candidate.layout = layout;
      auto one = (*predictor)->predict(candidate);
      if (one && (!best || rank_of(*one) < rank_of(*best))) best = *std::move(one);
    }
  } while (std::next_permutation(roles.begin(), roles.end()));
  return best;
}

Error infeasible(const SearchedJob& job) {
  std::string widest;
  for (const SearchedRole& role : job.roles)
    if (role.is_placed())
      widest += (widest.empty() ? "" : ", ") + role.name + " at least " +
                std::to_string(role.min_replicas) + " x " + std::to_string(role.width) +
                (role.device_model.empty() ? "" : " " + role.device_model);
  return error_of(job,
                  "infeasible: no placement fits on " + std::to_string(job.devices) +
                      " devices of " + std::to_string(job.nodes.size()) +
                      " nodes, every replica on devices of one node is needed (" + widest +
                      "); add devices, or loosen search.replicas, search.apart and gpus");
}

}  // namespace

const Prediction* SearchResult::best_of(placement::Mode mode) const {
  const auto of_mode = std::find_if(found.begin(), found.end(), [&](const Prediction& one) {
    return mode_of(one.candidate) == mode;
  });
  return of_mode == found.end() ? nullptr : &*of_mode;
}

const Prediction& SearchResult::smallest_within(double factor) const {
  const Prediction* smallest = &found.front();
  for (const Prediction& one : found)
    if (one.step_s <= factor * found.front().step_s && one.devices < smallest->devices)
      smallest = &one;
  return *smallest;
}

Result<SearchResult> search_placement(const SearchedJob& job, const SearchOptions& options) {
  auto predictor = Predictor::make(job, options.turns);
  if (!predictor) return predictor.errors();
  const std::vector<Sharing> sharings = all_sharings(job);
  std::int32_t step = 1;
  while (job.devices / step > kStepsMax) step *= 2;
  std::int64_t count = count_candidates(job, sharings, step);
  for (; count > options.candidates && step < job.devices; step *= 2)
    count = count_candidates(job, sharings, step * 2);
  if (count > options.candidates)
    return error_of(job,
                    "too many candidates: found " + std::to_string(count) +
                        " in the coarsest steps, at most " + std::to_string(options.candidates) +
                        " are needed; allow more with --candidates, or state fewer "
                        "search.micro_batches, or more search.apart");
  Search search(job, **predictor, options.stop);
  search.try_all(sharings, step);
  if (search.is_empty() && search.is_stopped())
    return error_of(job, "stopped before any placement was found; give it more time");
  if (search.is_empty()) return infeasible(job);
  if (step > 1) search.refine(step / 2);
  SearchResult out = search.take();
  auto written = predict_written(job_as_written(job), options.turns);
  if (!written) return written.errors();
  out.written = *std::move(written);
  out.step = step;
  out.turns = (*predictor)->turns();
  return out;
}

}  // namespace orrery::sim
