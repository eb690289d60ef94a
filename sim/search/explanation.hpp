// What a predicted turn is made of, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/search/prediction.hpp"

namespace orrery::sim {

/// One kind of time on the path that decides how long a turn takes.
struct PathTerm {
  std::string name;     ///< "generate", "longest sequences", "train", "switch", ...
  std::string meaning;  ///< For people.
  double seconds = 0;
};

/// All kinds that the job has, in the order of a turn; they sum up to the turn.
std::vector<PathTerm> path_terms(const SearchedJob& job, const TurnPath& path);

/// The largest of them.
PathTerm largest_term(const SearchedJob& job, const TurnPath& path);

/// The kind that grows most from one turn to a longer one.
PathTerm largest_increase(const SearchedJob& job, const TurnPath& from, const TurnPath& to);

/// Roles that have to take turns, in groups that have no device in common; none of one role.
std::vector<std::vector<std::string>> sharing_roles(const SearchedJob& job,
                                                    const Prediction& prediction);

/// Roles on the same devices, with those: "rollout+reward 0-5, actor 6-7". Devices are numbered
/// through all nodes; many ranges are only counted.
std::string places_in_words(const SearchedJob& job, const Prediction& prediction);

}  // namespace orrery::sim
