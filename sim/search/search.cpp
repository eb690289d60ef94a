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
constexpr std::size_t kRefined = 8;      // So many of the best are looked around.

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

/// Predicts candidates and keeps what can be placed.
class Search {
 public:
  Search(const SearchedJob& job, Predictor& predictor) : job_(job), predictor_(predictor) {}

  void try_all(const std::vector<Sharing>& sharings, std::int32_t step) {
    for_each_candidate(
        job_, sharings, step, [&](const Candidate& candidate) { try_one(candidate); });
    sort();
  }

  /// Looks around the best, in smaller and smaller steps.
  void refine(std::int32_t step) {
    for (; step >= 1; step /= 2) {
      for (bool better = true; better;) {
        const std::int64_t best = std::llround(found_.front().step_s * 1e9);
        std::vector<Candidate> around;
        for (std::size_t i = 0; i < std::min(kRefined, found_.size()); ++i)
          for (Candidate& one : neighbours(job_, found_[i].candidate, step))
            around.push_back(std::move(one));
        for (const Candidate& one : around)
          if (!is_known(one)) try_one(one);
        sort();
        better = std::llround(found_.front().step_s * 1e9) < best;
      }
    }
  }

  bool is_empty() const { return found_.empty(); }

  SearchResult take() {
    SearchResult out;
    out.tried = tried_;
    std::set<std::vector<std::int32_t>> seen;
    for (Prediction& one : found_)
      if (seen.insert(place_key(one)).second) out.found.push_back(std::move(one));
    return out;
  }

 private:
  void try_one(const Candidate& candidate) {
    auto prediction = predictor_.predict(candidate);
    if (!prediction) return;
    ++tried_;
    found_.push_back(*std::move(prediction));
  }

  bool is_known(const Candidate& candidate) const {
    return std::any_of(found_.begin(), found_.end(), [&](const Prediction& one) {
      return one.candidate == candidate;
    });
  }

  // Best first.
  void sort() {
    std::stable_sort(found_.begin(), found_.end(), [](const Prediction& a, const Prediction& b) {
      return rank_of(a) < rank_of(b);
    });
  }

  const SearchedJob& job_;
  Predictor& predictor_;
  std::vector<Prediction> found_;
  std::int64_t tried_ = 0;
};

Error error_of(const SearchedJob& job, std::string message) {
  Error error;
  error.file = job.scenario->file;
  error.subject = "job " + job.name;
  error.message = std::move(message);
  return error;
}

/// Each role with the replicas that stand in the file, on devices of its own.
std::optional<Candidate> written_candidate(const SearchedJob& job) {
  Candidate candidate;
  std::int64_t devices = 0;
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    const SearchedRole& role = job.roles[r];
    if (!role.is_placed()) continue;
    candidate.pools.push_back({{static_cast<std::int32_t>(r)}, role.width * role.reference});
    devices += candidate.pools.back().devices;
  }
  if (devices > job.devices) return std::nullopt;
  return candidate;
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
  Search search(job, **predictor);
  search.try_all(sharings, step);
  if (search.is_empty()) return infeasible(job);
  if (step > 1) search.refine(step / 2);
  SearchResult out = search.take();
  if (const auto written = written_candidate(job)) out.written = (*predictor)->predict(*written);
  out.step = step;
  out.turns = (*predictor)->turns();
  return out;
}

}  // namespace orrery::sim
