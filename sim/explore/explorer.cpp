#include "sim/explore/explorer.hpp"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/invariant.hpp"
#include "sim/explore/explored_world.hpp"
#include "sim/explore/seen_states.hpp"

namespace orrery::sim {
namespace {

/// Thrown out of a broken invariant: the world is abandoned as it stands.
struct InvariantThrown {
  std::string text;
};

void throw_invariant(std::string_view what, const char* file, int line) {
  std::string place(file);
  if (const std::size_t slash = place.rfind('/'); slash != std::string::npos)
    place = place.substr(slash + 1);
  throw InvariantThrown{std::string(what) + " (" + place + ":" + std::to_string(line) + ")"};
}

class ThrowsInvariants {
 public:
  ThrowsInvariants() { set_invariant_handler(throw_invariant); }

  ~ThrowsInvariants() { set_invariant_handler(nullptr); }

  ThrowsInvariants(const ThrowsInvariants&) = delete;
  ThrowsInvariants& operator=(const ThrowsInvariants&) = delete;
};

/// How a state was come to.
struct Way {
  std::uint32_t from = 0;  ///< The state before, by number.
  Choice choice;
};

/// A state that is to be gone on from.
struct Open {
  std::uint32_t number = 0;
  ExploredWorld::Snapshot snapshot;
};

class Exploration {
 public:
  Exploration(const ExploreBounds& bounds,
              const ExploredPolicy& policy,
              const ExploreOptions& options)
      : bounds_(bounds),
        policy_(policy),
        options_(options),
        world_(std::make_unique<ExploredWorld>(bounds, policy)) {}

  ExploreReport run() {
    Open first{0, world_->keep()};
    (void)seen_.add(ExploredWorld::digest(first.snapshot));
    ways_.push_back({});
    report_.states = 1;
    std::vector<Open> layer;
    layer.push_back(std::move(first));
    bool stopped = false;
    while (!layer.empty() && !stopped && report_.depth < bounds_.depth) {
      std::vector<Open> next;
      for (std::size_t i = 0; i < layer.size() && !stopped; ++i) {
        // What was gone on from is not needed any more.
        const Open open = std::move(layer[i]);
        const bool is_last = i + 1 == layer.size() && next.empty();
        stopped = !expand(open, next) || report_.states >= bounds_.states;
        if (i % kBetweenWords == 0 && options_.go_on && !is_last)
          stopped = stopped || !options_.go_on(report_);
      }
      if (!next.empty()) ++report_.depth;
      if (!stopped) ++report_.whole_depth;
      layer = std::move(next);
    }
    report_.complete = layer.empty() && !stopped;
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kBetweenWords = 4096;

  // Takes every step from a state; false where one of them broke something.
  bool expand(const Open& open, std::vector<Open>& next) {
    choices_.clear();
    world_->put_back(open.snapshot);
    world_->choices(choices_);
    for (const Choice& choice : choices_) {
      world_->put_back(open.snapshot);
      if (const auto broken = take(choice)) {
        tell(*broken, open.number, choice);
        return false;
      }
      ++report_.transitions;
      ExploredWorld::Snapshot after = world_->keep();
      if (!seen_.add(ExploredWorld::digest(after))) continue;
      ways_.push_back({open.number, choice});
      next.push_back({static_cast<std::uint32_t>(ways_.size() - 1), std::move(after)});
      ++report_.states;
    }
    return true;
  }

  std::optional<Violation> take(const Choice& choice) {
    const std::uint64_t before = world_->found().count();
    try {
      world_->take(choice);
    } catch (const InvariantThrown& thrown) {
      Violation violation{ViolationKind::Invariant, world_->now(), thrown.text};
      // Half-done: nothing of it can be trusted, its destructors included.
      (void)world_.release();
      return violation;
    }
    if (world_->found().count() == before) return std::nullopt;
    for (const Violation& each : world_->found().kept())
      if (!options_.only || each.kind == *options_.only) return each;
    return std::nullopt;
  }

  // The way to it once more, in a world of its own, for the words.
  void tell(const Violation& violation, std::uint32_t from, const Choice& last) {
    std::vector<Choice> way{last};
    for (std::uint32_t at = from; at != 0; at = ways_[at].from) way.push_back(ways_[at].choice);
    Counterexample found{violation, {}};
    ExploredWorld world(bounds_, policy_);
    for (std::size_t i = way.size(); i-- > 0;) {
      found.steps.push_back(world.describe(way[i]));
      if (i > 0) world.take(way[i]);
    }
    report_.counterexample = std::move(found);
  }

  const ExploreBounds& bounds_;
  const ExploredPolicy& policy_;
  const ExploreOptions& options_;
  std::unique_ptr<ExploredWorld> world_;
  SeenStates seen_;
  std::vector<Way> ways_;  ///< By number of the state.
  std::vector<Choice> choices_;
  ExploreReport report_;
};

/// As Exploration, with a look at what follows each time that a state is come to.
class Comparison {
 public:
  Comparison(const ExploreBounds& bounds, const ExploredPolicy& policy)
      : bounds_(bounds), policy_(policy), world_(bounds, policy, true) {}

  std::string run() {
    std::vector<Open> layer{{0, world_.keep()}};
    ways_.push_back({});
    first_.emplace(ExploredWorld::digest(layer[0].snapshot), First{0, follow(layer[0].snapshot)});
    while (!layer.empty() && first_.size() < bounds_.states) {
      std::vector<Open> next;
      for (const Open& open : layer)
        if (std::string unlike = expand(open, next); !unlike.empty()) return unlike;
      layer = std::move(next);
    }
    return {};
  }

 private:
  using Follow = std::vector<std::pair<Choice, Digest>>;

  struct First {
    std::uint32_t number = 0;
    Follow follow;
  };

  Follow follow(const ExploredWorld::Snapshot& from) {
    world_.put_back(from);
    std::vector<Choice> choices;
    world_.choices(choices);
    Follow out;
    for (const Choice& choice : choices) {
      world_.put_back(from);
      world_.take(choice);
      out.emplace_back(choice, ExploredWorld::digest(world_.keep()));
    }
    return out;
  }

  std::string expand(const Open& open, std::vector<Open>& next) {
    world_.put_back(open.snapshot);
    std::vector<Choice> choices;
    world_.choices(choices);
    for (const Choice& choice : choices) {
      world_.put_back(open.snapshot);
      world_.take(choice);
      ExploredWorld::Snapshot after = world_.keep();
      const Digest digest = ExploredWorld::digest(after);
      Follow follows = follow(after);
      const auto known = first_.find(digest);
      if (known != first_.end()) {
        if (known->second.follow != follows)
          return "one way:\n" + way_to(known->second.number, {}) + "the other:\n" +
                 way_to(open.number, choice);
        continue;
      }
      ways_.push_back({open.number, choice});
      const auto number = static_cast<std::uint32_t>(ways_.size() - 1);
      first_.emplace(digest, First{number, std::move(follows)});
      next.push_back({number, std::move(after)});
    }
    return {};
  }

  std::string way_to(std::uint32_t number, const std::optional<Choice>& last) {
    std::vector<Choice> way;
    if (last) way.push_back(*last);
    for (std::uint32_t at = number; at != 0; at = ways_[at].from) way.push_back(ways_[at].choice);
    ExploredWorld world(bounds_, policy_);
    std::string out;
    for (std::size_t i = way.size(); i-- > 0;) {
      out += "  " + world.describe(way[i]) + "\n";
      world.take(way[i]);
    }
    return out;
  }

  const ExploreBounds& bounds_;
  const ExploredPolicy& policy_;
  ExploredWorld world_;
  std::map<Digest, First> first_;
  std::vector<Way> ways_;
};

}  // namespace

ExploreReport explore(const ExploreBounds& bounds,
                      const ExploredPolicy& policy,
                      const ExploreOptions& options) {
  const ThrowsInvariants handler;
  return Exploration(bounds, policy, options).run();
}

std::string first_unlike(const ExploreBounds& bounds, const ExploredPolicy& policy) {
  return Comparison(bounds, policy).run();
}

}  // namespace orrery::sim
