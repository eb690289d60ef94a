#include "sim/search/explanation.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr std::size_t kRangesMax = 40;  // Characters; longer ones are counted.

std::string name_of(const SearchedJob& job, const SearchedPart& part) {
  return job.roles[static_cast<std::size_t>(part.role)].name;
}

std::string device_ranges(const SearchedJob& job, const RolePlaces& places) {
  std::string text;
  std::int32_t end = -1;
  std::int32_t begin = -1;
  const auto flush = [&] {
    if (begin < 0) return;
    text += (text.empty() ? "" : ",") + std::to_string(begin);
    if (end > begin + 1) text += "-" + std::to_string(end - 1);
  };
  for (const DeviceRun& run : places.runs) {
    const std::int32_t first = first_device(job, run);
    if (first != end) {
      flush();
      begin = first;
    }
    end = first + run.devices;
  }
  flush();
  if (text.size() > kRangesMax)
    return std::to_string(places.devices()) + " devices of " +
           std::to_string(places.nodes().size()) + " nodes";
  return text.empty() ? "no device" : text;
}

}  // namespace

std::vector<PathTerm> path_terms(const SearchedJob& job, const TurnPath& path) {
  const std::string generating = name_of(job, job.parts.front());
  std::vector<PathTerm> terms{
      {"generate", generating + " with all its slots busy", path.even_s},
      {"longest sequences", "slots of " + generating + " stand empty meanwhile", path.tail_s}};
  for (std::size_t p = 1; p < job.parts.size(); ++p)
    terms.push_back({std::string(to_string(job.parts[p].part)),
                     name_of(job, job.parts[p]) + " computes and exchanges",
                     path.parts.size() > p ? path.parts[p] : 0});
  terms.push_back({"switch", "devices pass from role to role", path.switch_s});
  terms.push_back({"handover", "micro-batches pass from part to part", path.handover_s});
  terms.push_back({"weights", "the new weights go to " + generating, path.weights_s});
  return terms;
}

PathTerm largest_term(const SearchedJob& job, const TurnPath& path) {
  const auto terms = path_terms(job, path);
  return *std::max_element(terms.begin(), terms.end(), [](const PathTerm& a, const PathTerm& b) {
    return a.seconds < b.seconds;
  });
}

PathTerm largest_increase(const SearchedJob& job, const TurnPath& from, const TurnPath& to) {
  const auto before = path_terms(job, from);
  auto terms = path_terms(job, to);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i].seconds -= before[i].seconds;
  return *std::max_element(terms.begin(), terms.end(), [](const PathTerm& a, const PathTerm& b) {
    return a.seconds < b.seconds;
  });
}

std::vector<std::vector<std::string>> sharing_roles(const SearchedJob& job,
                                                    const Prediction& prediction) {
  // The lowest role of the group of each; a group that meets an earlier one becomes part of it.
  std::vector<std::size_t> group_of;
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    group_of.push_back(r);
    for (std::size_t other = 0; other < r; ++other) {
      if (!share_devices(prediction.places[r], prediction.places[other])) continue;
      const std::size_t kept = std::min(group_of[r], group_of[other]);
      const std::size_t joined = std::max(group_of[r], group_of[other]);
      std::replace(group_of.begin(), group_of.end(), joined, kept);
    }
  }
  std::vector<std::vector<std::string>> groups(job.roles.size());
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    groups[group_of[r]].push_back(job.roles[r].name);
  std::erase_if(groups, [](const auto& roles) { return roles.size() < 2; });
  return groups;
}

std::string places_in_words(const SearchedJob& job, const Prediction& prediction) {
  std::string text;
  std::vector<bool> told(job.roles.size(), false);
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    if (told[r]) continue;
    const RolePlaces& places = prediction.places[r];
    text += (text.empty() ? "" : ", ") + job.roles[r].name;
    for (std::size_t other = r + 1; other < job.roles.size(); ++other) {
      if (prediction.places[other].runs != places.runs || places.runs.empty()) continue;
      told[other] = true;
      text += "+" + job.roles[other].name;
    }
    text += " " + device_ranges(job, places);
  }
  return text;
}

}  // namespace orrery::sim
