// How much time each job gets on each type of device: Gavel's allocation policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::policies {

/// One job of a sharing.
struct SharingJob {
  double devices = 1;         ///< It holds while it runs, above 0; parts of one count as parts.
  double weight = 1;          ///< Above 0.
  std::int32_t priority = 0;  ///< For `fifo_shares` alone: rounds ask it by themselves.
  std::vector<double> speed;  ///< Steps per second on each type; 0: it does not run there.
  double left = 0;            ///< Steps.
  double age_s = 0;           ///< Since its submission.
  double isolated_s = 0;      ///< What its finished part would have taken in its isolated share.

  double speed_under(const std::vector<double>& shares) const;
};

/// Two jobs of a sharing, of equal `devices`, on the same devices.
struct SharingPair {
  std::size_t first = 0;  ///< Places in `Sharing::jobs`.
  std::size_t second = 0;
  std::vector<double> first_speed;   ///< Steps per second on each type, beside the other,
  std::vector<double> second_speed;  ///< and those of the other; 0 of both: not there.
};

/// Jobs in order of age, and how many devices of each type there are.
struct Sharing {
  std::vector<SharingJob> jobs;
  std::vector<double> devices;
  std::vector<SharingPair> pairs;  ///< Of jobs that may share devices; only `packed_shares` and
                                   ///< `paired_shares` look.
};

/// [job][type]: the part of its time that the job shall have so many devices of the type. All are 0
/// to 1, those of a job sum to 1 at most, and the devices suffice:
///
///     x_ij >= 0,   sum_j x_ij <= 1,   sum_i k_i x_ij <= N_j
///
/// with k_i the job's devices and N_j those of the type (D. Narayanan et al., *Heterogeneity-Aware
/// Cluster Scheduling Policies for Deep Learning Workloads*, OSDI 2020, section 3).
using Shares = std::vector<std::vector<double>>;

/// Which of several optima. A linear program may have many, and what a solver answers depends on
/// its method.
enum class SpareShares : std::uint8_t {
  Least,    ///< As the simplex method ends, at a vertex; each rule says what it adds.
  Centred,  ///< In the middle (`centre_near`), as an interior-point method ends.
};

/// The same part of every type for each: x_ij = N_j / (m k_i) among m jobs, scaled down where that
/// is more than all its time.
Shares isolated_shares(const Sharing& sharing);

/// In order of priority, then age, each job gets the type on which it is fastest of those that are
/// left; one that is slower everywhere it fits than anywhere, that is, cannot run there, is passed
/// over, and the first that fits nowhere ends it.
Shares fifo_shares(const Sharing& sharing);

/// As if all types were equally fast.
Sharing without_types(Sharing sharing);

/// Max-min fairness (LAS): the least k_i speed_i(x) / (w_i C_i) is greatest, where C_i is the
/// job's mean speed over all devices.
Shares max_min_shares(const Sharing& sharing, SpareShares spare = SpareShares::Least);

/// The same with pairs of jobs on the same devices (the paper's space sharing): rows of the pairs
/// follow those of the jobs, a job's speed is the sum over its rows, and so is its time:
///
///     sum of x_rj over types j and rows r that have the job <= 1
Shares packed_shares(const Sharing& sharing);

/// `isolated_shares` of jobs in no pair and of pairs, in which each job is once at most; rows of
/// the pairs follow those of the jobs.
Shares paired_shares(const Sharing& sharing);

/// The sum of all speeds is greatest.
Shares max_sum_shares(const Sharing& sharing, SpareShares spare = SpareShares::Least);

/// All jobs end by the same, earliest time, found by bisection to 5 %. The artifact's program has
/// no objective beside, so that its answer is any: `Least` takes the least sum of all shares,
/// `Centred` the centre of those that hold the makespan (`centre_of`).
Shares makespan_shares(const Sharing& sharing, SpareShares spare = SpareShares::Least);

/// The number of times that `makespan_shares` asks whether a makespan can be held, and the last one
/// that can, in seconds; for tests.
struct MakespanSearch {
  int probes = 0;
  double makespan_s = 0;
};

MakespanSearch search_makespan(const Sharing& sharing);

/// The greatest finish-time ratio is least: (age + left / speed(x)) / (isolated_s + left / isolated
/// speed), Themis' measure of fairness as Gavel computes it. Of all shares that hold it, `Least`
/// takes those of the greatest sum of speeds k_i speed_i(x) / C_i.
Shares finish_time_fair_shares(const Sharing& sharing, SpareShares spare = SpareShares::Least);

}  // namespace orrery::policies
