#include "sim/steps/pipeline_turn.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>

#include "core/base/invariant.hpp"
#include "sim/steps/loop_turn.hpp"

namespace orrery::sim {
namespace {

// Sequences of one instance, `concurrent` at once.
class Slots {
 public:
  explicit Slots(std::size_t concurrent) : concurrent_(concurrent) {}

  /// When the next sequence, of so many seconds, has its end.
  double add(double seconds) {
    double end = seconds;
    if (busy_until_.size() == concurrent_) {
      end += busy_until_.top();
      busy_until_.pop();
    }
    busy_until_.push(end);
    last_ = std::max(last_, end);
    return end;
  }

  double last() const { return last_; }

 private:
  std::size_t concurrent_;
  std::priority_queue<double, std::vector<double>, std::greater<>> busy_until_;
  double last_ = 0;
};

// Why a micro-batch begins at a part when it does.
enum class Cause : std::uint8_t { Data, Before, Devices };

// What a part does with one micro-batch.
struct Work {
  double end = 0;
  Cause cause = Cause::Data;
};

// One turn under way, part by part.
class PipelinedTurn {
 public:
  PipelinedTurn(const Pipeline& pipeline, const Generated& generated)
      : pipeline_(pipeline),
        generated_(generated),
        groups_(generated.ends.size()),
        batches_(std::clamp<std::size_t>(
            static_cast<std::size_t>(pipeline.micro_batches), 1, groups_)) {}

  TurnPath run() {
    generation_begin_ = devices_at(0);
    work_.resize(pipeline_.parts.size());
    for (std::size_t part = 1; part < pipeline_.parts.size(); ++part) pass(part);
    return path();
  }

 private:
  const PipelinePart& part_at(std::size_t part) const { return pipeline_.parts[part]; }

  // The part whose role held this one's devices last, itself where nobody else has them.
  std::size_t holder_before(std::size_t part) const {
    const std::size_t parts = pipeline_.parts.size();
    for (std::size_t back = 1; back < parts; ++back) {
      const std::size_t other = (part + parts - back) % parts;
      if ((part_at(part).beside >> other & 1U) != 0) return other;
    }
    return part;
  }

  double switch_before(std::size_t part) const {
    return part_at(holder_before(part)).role == part_at(part).role ? 0 : pipeline_.switch_s;
  }

  double end_of(std::size_t part) const {
    return part == 0 ? generation_begin_ + generated_.ends.back() : work_[part].back().end;
  }

  // The earlier part with devices of this one that ends last; none in this turn: the part itself.
  std::size_t last_holder(std::size_t part) const {
    std::size_t last = part;
    for (std::size_t other = 0; other < part; ++other)
      if ((part_at(part).beside >> other & 1U) != 0 &&
          (last == part || end_of(other) >= end_of(last)))
        last = other;
    return last;
  }

  // When the part has its devices.
  double devices_at(std::size_t part) const {
    const std::size_t holder = last_holder(part);
    return (holder == part ? 0 : end_of(holder)) + switch_before(part);
  }

  // Groups before the end of a micro-batch.
  std::size_t groups_until(std::size_t batches) const { return batches * groups_ / batches_; }

  double seconds_of(std::size_t part, std::size_t batch) const {
    return part_at(part).seconds *
           static_cast<double>(groups_until(batch + 1) - groups_until(batch)) /
           static_cast<double>(groups_);
  }

  double data_at(std::size_t part, std::size_t batch) const {
    if (part > 1) return work_[part - 1][batch].end;
    return generation_begin_ + generated_.ends[groups_until(batch + 1) - 1];
  }

  void pass(std::size_t part) {
    double free = devices_at(part);
    Cause cause = Cause::Devices;
    for (std::size_t batch = 0; batch < batches_; ++batch) {
      Work work{free, cause};
      if (const double data = data_at(part, batch); data >= free) work = {data, Cause::Data};
      work.end += seconds_of(part, batch) + pipeline_.handover_s;
      work_[part].push_back(work);
      free = work.end;
      cause = Cause::Before;
    }
  }

  // Back from the end of the last part to the begin of the turn.
  TurnPath path() const {
    TurnPath path;
    path.parts.resize(pipeline_.parts.size());
    path.weights_s = pipeline_.weights_s;
    std::size_t part = pipeline_.parts.size() - 1;
    std::size_t batch = batches_ - 1;
    while (part > 0) {
      path.parts[part] += seconds_of(part, batch);
      path.handover_s += pipeline_.handover_s;
      const Cause cause = work_[part][batch].cause;
      if (cause == Cause::Before) {
        --batch;
      } else if (cause == Cause::Data) {
        --part;
      } else {
        path.switch_s += switch_before(part);
        const std::size_t holder = last_holder(part);
        if (holder == part) return path;  // The turn begins.
        part = holder;
        batch = batches_ - 1;
      }
    }
    path.switch_s += generation_begin_;
    const double generated = generated_.ends[groups_until(batch + 1) - 1];
    path.even_s = std::min(generated, generated_.even_s);
    path.tail_s = generated - path.even_s;
    return path;
  }

  const Pipeline& pipeline_;
  const Generated& generated_;
  std::size_t groups_;
  std::size_t batches_;
  double generation_begin_ = 0;
  std::vector<std::vector<Work>> work_;  // [part][micro-batch]; nothing for the first part.
};

}  // namespace

double TurnPath::seconds() const {
  double sum = even_s + tail_s + switch_s + handover_s + weights_s;
  for (const double part : parts) sum += part;
  return sum;
}

TurnPath& TurnPath::operator+=(const TurnPath& other) {
  parts.resize(std::max(parts.size(), other.parts.size()));
  for (std::size_t i = 0; i < other.parts.size(); ++i) parts[i] += other.parts[i];
  even_s += other.even_s;
  tail_s += other.tail_s;
  switch_s += other.switch_s;
  handover_s += other.handover_s;
  weights_s += other.weights_s;
  return *this;
}

TurnPath& TurnPath::operator*=(double factor) {
  for (double* seconds : {&even_s, &tail_s, &switch_s, &handover_s, &weights_s}) *seconds *= factor;
  for (double& part : parts) part *= factor;
  return *this;
}

std::vector<double> draw_sequences(const scenarios::LoopSpec& loop, Random& random) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(loop.sequences));
  for (std::int32_t i = 0; i < loop.sequences; ++i)
    seconds.push_back(sequence_seconds(loop, random));
  return seconds;
}

Generated generate_groups(const std::vector<double>& seconds,
                          std::int32_t group,
                          std::int32_t instances,
                          std::int32_t concurrent) {
  const auto size = static_cast<std::size_t>(group);
  invariant(!seconds.empty() && seconds.size() % size == 0, "sequences are whole groups");
  std::vector<Slots> slots(static_cast<std::size_t>(instances),
                           Slots(static_cast<std::size_t>(concurrent)));
  Generated out;
  for (std::size_t first = 0; first < seconds.size(); first += size) {
    Slots& of = slots[first / size % slots.size()];
    double end = 0;
    for (std::size_t i = first; i < first + size; ++i) {
      end = std::max(end, of.add(seconds[i]));
      out.even_s += seconds[i];
    }
    out.ends.push_back(end);
  }
  std::sort(out.ends.begin(), out.ends.end());
  out.even_s /= static_cast<double>(instances) * concurrent;
  for (const Slots& of : slots) out.busy_s += of.last() / static_cast<double>(slots.size());
  return out;
}

TurnPath pipeline_turn(const Pipeline& pipeline, const Generated& generated) {
  invariant(!pipeline.parts.empty() && !generated.ends.empty(), "a turn generates");
  return PipelinedTurn(pipeline, generated).run();
}

}  // namespace orrery::sim
