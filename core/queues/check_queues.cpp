#include <algorithm>
#include <map>
#include <utility>

#include "core/job/spec.hpp"
#include "core/queues/queue_spec.hpp"

namespace orrery {
namespace {

/// Holds a tree against its rules, and notes each fault with its remedy.
class QueueCheck {
 public:
  QueueCheck(const QueuesSpec& spec, std::optional<std::int64_t> devices)
      : spec_(spec), devices_(devices) {}

  std::vector<QueueFault> run() {
    whole();
    for (std::size_t i = 0; i < spec_.queues.size(); ++i) names(i);
    for (std::size_t i = 0; i < spec_.queues.size(); ++i) parents(i);
    otherwise();
    // Of a tree whose shape is wrong nothing more can be said.
    if (!faults_.empty()) return std::move(faults_);
    for (std::size_t i = 0; i < spec_.queues.size(); ++i) amounts(i);
    for (std::size_t i = 0; i < spec_.queues.size(); ++i) sums(i);
    sums(kTop);
    return std::move(faults_);
  }

 private:
  static constexpr std::size_t kTop = SIZE_MAX;

  void say(std::size_t queue, std::string key, std::string message) {
    faults_.push_back({queue, std::move(key), std::move(message)});
  }

  void whole() {
    if (spec_.period < Duration::seconds(1))
      say(kTop, "period", "is shorter than 1s, 1s or more is needed; write for example 60s");
    if (spec_.half_life.ns < 0 || spec_.half_life > Duration::seconds(std::int64_t{366} * 86400) ||
        (spec_.half_life.ns > 0 && spec_.half_life < Duration::seconds(60)))
      say(kTop,
          "half_life",
          "is not 0s and not from 60s to 366d, one of them is needed; write for example 24h, or "
          "0s so that past use does not count");
    if (spec_.patience < Duration::seconds(1))
      say(kTop, "patience", "is shorter than 1s, 1s or more is needed; write for example 30min");
    if (spec_.queues.empty())
      say(kTop,
          "tree",
          "has no queue, one at least is needed; write for example [{name: research}]");
    if (spec_.queues.size() > kQueuesMax)
      say(kTop,
          "tree",
          "has " + std::to_string(spec_.queues.size()) + " queues, at most " +
              std::to_string(kQueuesMax) + " are taken; join some of them");
  }

  void names(std::size_t i) {
    const QueueSpec& queue = spec_.queues[i];
    if (!is_dns_label(queue.name))
      say(i,
          "name",
          "is '" + queue.name +
              "', a DNS label (a-z, 0-9, '-') is needed; give the queue such a name");
    else if (!by_name_.emplace(queue.name, i).second)
      say(i, "name", "is '" + queue.name + "', which another queue has; rename one of them");
    if (queue.weight < 0 || queue.weight > 1'000'000)
      say(i,
          "weight",
          "is " + std::to_string(queue.weight) +
              ", 0 to 1000000 is needed; with 0 the queue gets what no other asks for");
    std::map<std::string, int> users;
    for (const QueueUser& user : queue.users) {
      if (!is_dns_label(user.name))
        say(i,
            "users",
            "has '" + user.name +
                "', the namespace of jobs is needed, a DNS label (a-z, 0-9, '-'); correct the "
                "name");
      else if (++users[user.name] == 2)
        say(i, "users", "has '" + user.name + "' twice; remove one of them");
    }
  }

  void parents(std::size_t i) {
    const QueueSpec& queue = spec_.queues[i];
    if (queue.parent.empty()) return;
    const auto parent = by_name_.find(queue.parent);
    if (parent == by_name_.end())
      return say(i,
                 "parent",
                 "is '" + queue.parent +
                     "', which is no queue; write the name of one, or remove the key for a queue "
                     "at the top");
    // A walk to the top that is longer than there are queues goes round.
    std::size_t at = parent->second;
    for (std::size_t steps = 0; steps <= spec_.queues.size(); ++steps) {
      if (at == i)
        return say(i,
                   "parent",
                   "is '" + queue.parent + "', which is below '" + queue.name +
                       "' itself: the queues go round in a circle; let one of them stand at the "
                       "top");
      const auto next = by_name_.find(spec_.queues[at].parent);
      if (next == by_name_.end()) return;
      at = next->second;
    }
  }

  bool has_children(const std::string& name) const {
    return std::any_of(spec_.queues.begin(), spec_.queues.end(), [&](const QueueSpec& queue) {
      return queue.parent == name;
    });
  }

  void otherwise() {
    const std::string name = spec_.otherwise.empty() ? std::string(kDefaultQueue) : spec_.otherwise;
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      if (!spec_.otherwise.empty())
        say(kTop,
            "default",
            "is '" + name +
                "', which is no queue; write the name of one, or remove the key: a "
                "queue named default is then added");
      return;
    }
    if (has_children(name))
      say(kTop,
          "default",
          "is '" + name +
              "', which has queues below it, and jobs stand in queues without; name "
              "one of those below it");
  }

  // Both in one unit, where they can be compared: as devices, or as parts of the cluster.
  bool is_more(const QueueAmount& a, const QueueAmount& b) const {
    if (a.of_cluster == b.of_cluster) return a.thousandths > b.thousandths;
    return devices_ && a.of(*devices_ * 1000) > b.of(*devices_ * 1000);
  }

  void amounts(std::size_t i) {
    const QueueSpec& queue = spec_.queues[i];
    if (queue.limit && is_more(queue.guarantee, *queue.limit))
      say(i,
          "guarantee",
          "is " + queue.guarantee.text() + ", more than the limit " + queue.limit->text() +
              "; lower it or raise the limit");
    if (queue.limit && queue.limit->thousandths == 0)
      say(i, "limit", "is 0, no job of the queue could ever run; raise it or remove the queue");
    if (queue.borrow && queue.borrow->thousandths == 0 && queue.guarantee.thousandths == 0 &&
        !has_children(queue.name))
      say(i,
          "borrow",
          "is 0 and nothing is guaranteed, so that no job of the queue could ever run; write a "
          "guarantee, or allow it to borrow");
    if (queue.parent.empty()) return;
    const QueueSpec& parent = spec_.queues[by_name_.at(queue.parent)];
    if (parent.limit && is_more(queue.guarantee, *parent.limit))
      say(i,
          "guarantee",
          "is " + queue.guarantee.text() + ", more than the limit " + parent.limit->text() +
              " of '" + parent.name + "' above it; lower it or raise that limit");
  }

  // What is guaranteed below one queue, or at the top, must be there to give.
  void sums(std::size_t above) {
    QueueAmount devices;
    QueueAmount parts{0, true};
    const std::string name = above == kTop ? "" : spec_.queues[above].name;
    bool any = false;
    for (const QueueSpec& queue : spec_.queues) {
      if (queue.parent != name) continue;
      any = true;
      (queue.guarantee.of_cluster ? parts : devices).thousandths += queue.guarantee.thousandths;
    }
    if (!any) return;
    if (above == kTop) return top_sums(devices, parts);
    const QueueAmount& own = spec_.queues[above].guarantee;
    if (own.thousandths == 0) return;
    const bool both = devices.thousandths > 0 && parts.thousandths > 0;
    for (const QueueAmount& sum : {devices, parts})
      if (!both && is_more(sum, own))
        return say(above,
                   "guarantee",
                   "is " + own.text() + ", but " + sum.text() +
                       " are guaranteed to the queues below it; lower theirs or raise it");
    if (both && devices_ &&
        devices.thousandths + parts.of(*devices_ * 1000) > own.of(*devices_ * 1000))
      say(above,
          "guarantee",
          "is " + own.text() + ", but " + devices.text() + " devices and " + parts.text() +
              " are guaranteed to the queues below it; lower theirs or raise it");
  }

  void top_sums(const QueueAmount& devices, const QueueAmount& parts) {
    if (parts.thousandths > 1000)
      return say(kTop,
                 "tree",
                 "guarantees " + parts.text() +
                     " of the cluster in all, 100% are there; lower some guarantees");
    if (!devices_) return;
    const std::int64_t total = *devices_ * 1000;
    if (devices.thousandths + parts.of(total) > total)
      say(kTop,
          "tree",
          "guarantees " + QueueAmount{devices.thousandths + parts.of(total), false}.text() +
              " devices in all, the cluster has " + std::to_string(*devices_) +
              "; lower some guarantees");
  }

  const QueuesSpec& spec_;
  std::optional<std::int64_t> devices_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<QueueFault> faults_;
};

}  // namespace

std::vector<QueueFault> check_queues(const QueuesSpec& spec, std::optional<std::int64_t> devices) {
  return QueueCheck(spec, devices).run();
}

}  // namespace orrery
