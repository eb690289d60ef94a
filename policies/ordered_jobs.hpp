// Waiting jobs in an order of a policy's own, so indexed that a pass costs what it starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/base/sparse_array.hpp"
#include "core/plan/cluster_view.hpp"
#include "policies/gang_shape.hpp"
#include "policies/gang_starter.hpp"

namespace orrery::policies {

/// Priority first, then the policy's key, then age: what comes first compares less.
struct OrderKey {
  std::int32_t priority = 0;
  std::int64_t key = 0;  ///< Ascending.
  JobId job;

  friend bool operator<(const OrderKey& a, const OrderKey& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  }
};

/// The waiting jobs, grouped by what they ask for. Where one job of a group fits nowhere, none of
/// its group does, so a pass over thousands of jobs looks at a few dozen groups.
/// Derived from the views; a policy does not save it.
class OrderedJobs {
 public:
  void clear();

  /// Puts a waiting job at its place, or moves it there.
  void put(const ClusterView& view, JobId id, std::int64_t key);

  /// Forgets a job, where it is known.
  void remove(JobId id);

  /// The place of a job that is known.
  const OrderKey& place_of(JobId id) const { return records_.find(id.index())->place; }

  /// Starts waiting jobs in order, each at its minimum. One that does not fit, not even when
  /// `start_over(const OrderKey&)` has tried to make room (it returns a GangStarter::Outcome), is
  /// passed over.
  template <class StartOver>
  void start_all(GangStarter& gang, Plan& plan, StartOver&& start_over) const {
    if (groups_.empty()) return;
    const bool all_need_devices = groups_.begin()->first.devices > 0;
    std::vector<Cursor> heap;
    for (const auto& [shape, group] : groups_)
      heap.push_back({group.begin(), group.end(), shape.devices});
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Cursor& first = heap.back();
      const OrderKey& place = *first.next;
      GangStarter::Outcome room = GangStarter::Outcome::Started;
      if (first.devices > gang.device_room() || !gang.start(place.job, plan))
        room = start_over(place);
      const bool started = room == GangStarter::Outcome::Started;
      // Where no running job gives way to this one, none does to those behind it.
      if (room == GangStarter::Outcome::NoVictims && all_need_devices && gang.device_room() == 0)
        return;
      if ((started || !gang.quota_allows(place.job)) && ++first.next != first.end) {
        std::push_heap(heap.begin(), heap.end(), later);
      } else {
        heap.pop_back();
      }
    }
  }

 private:
  using Group = std::set<OrderKey>;
  using Groups = std::map<GangShape, Group>;

  struct Cursor {
    Group::const_iterator next;
    Group::const_iterator end;
    std::int32_t devices;
  };

  struct Record {
    bool waits = false;
    Groups::iterator group;
    OrderKey place;
  };

  static bool later(const Cursor& a, const Cursor& b) { return *b.next < *a.next; }

  Groups groups_;                ///< None is empty.
  SparseArray<Record> records_;  ///< By job.
};

}  // namespace orrery::policies
