// One turn of a reinforcement learning loop: jobs.work.loop.
#include <algorithm>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kSequencesMax = 100'000;

/// A part of the loop; nothing where it is not written or no map.
class Part {
 public:
  Part(const MapReader& loop, std::string_view key, const JobSpec& spec)
      : node_(loop.find(key)), spec_(spec) {
    if (node_ != nullptr)
      reader_.emplace(loop.reading(),
                      *node_,
                      section("jobs.work.loop." + std::string(key)),
                      loop.subject_of(key));
  }

  explicit operator bool() const { return node_ != nullptr && node_->is_map(); }

  const MapReader* operator->() const { return &*reader_; }

  const MapReader& operator*() const { return *reader_; }

  void read_role(std::string& role) const {
    if (!reader_->has("role")) {
      // A job of one role leaves no choice.
      if (spec_.roles.size() == 1)
        role = spec_.roles[0].name;
      else
        reader_->missing("role", "role: rollout");
      return;
    }
    reader_->read_text("role", role);
    const auto is_it = [&](const RoleSpec& known) { return known.name == role; };
    if (std::any_of(spec_.roles.begin(), spec_.roles.end(), is_it)) return;
    std::vector<std::string_view> names;
    for (const RoleSpec& known : spec_.roles) names.push_back(known.name);
    const std::string_view near = nearest(role, names);
    reader_->fail(
        "role",
        "is '" + role + "', which the job does not have; " +
            (near.empty() ? "name one of its roles" : "did you mean '" + std::string(near) + "'?"));
  }

  void read_time(Duration& time) const {
    if (!reader_->has("time")) return reader_->missing("time", "time: 20s");
    reader_->read_duration("time", time);
  }

 private:
  const YamlNode* node_;
  const JobSpec& spec_;
  std::optional<MapReader> reader_;
};

void read_length(const MapReader& generate, LoopSpec& loop) {
  const YamlNode* node = generate.find("length");
  if (node == nullptr)
    return generate.missing("length", "length: {median: 800, sigma: 1, max: 8192}");
  const MapReader reader(generate.reading(),
                         *node,
                         section("jobs.work.loop.generate.length"),
                         generate.subject_of("length"));
  if (!node->is_map()) return;
  for (std::string_view key : {"median", "max"})
    if (!reader.has(key)) reader.missing(key, std::string(key) + ": 8192");
  reader.read_number("median", loop.length_median, 1e-9, kAnyNumber);
  reader.read_number("sigma", loop.length_sigma, 0, 10);
  reader.read_number("max", loop.length_max, 1e-9, kAnyNumber);
}

void read_generate(const MapReader& reader, const JobSpec& spec, LoopSpec& loop) {
  const Part part(reader, "generate", spec);
  if (!part) {
    if (!reader.has("generate"))
      reader.missing("generate",
                     "generate: {role: rollout, sequences: 512, tokens_per_second: 60, length: "
                     "{median: 800, sigma: 1, max: 8192}}");
    return;
  }
  part.read_role(loop.generate_role);
  if (!part->has("sequences")) part->missing("sequences", "sequences: 512");
  part->read_integer("sequences", loop.sequences, 1, kSequencesMax);
  if (!part->has("tokens_per_second")) part->missing("tokens_per_second", "tokens_per_second: 60");
  part->read_number("tokens_per_second", loop.tokens_per_second, 1e-9, kAnyNumber);
  part->read_integer("concurrent", loop.concurrent, 1, kSequencesMax);
  read_length(*part, loop);
}

}  // namespace

void read_loop(const MapReader& work, const JobSpec& spec, LoopSpec& loop) {
  const YamlNode* node = work.find("loop");
  if (node == nullptr) return;
  const MapReader reader(work.reading(), *node, section("jobs.work.loop"), work.subject_of("loop"));
  if (!node->is_map()) return;
  read_generate(reader, spec, loop);
  if (const Part reward(reader, "reward", spec); reward) {
    reward.read_role(loop.reward_role);
    reward.read_time(loop.reward);
  }
  if (const Part inference(reader, "inference", spec); inference) {
    inference.read_role(loop.inference_role);
    inference.read_time(loop.inference);
  }
  if (const Part train(reader, "train", spec); train) {
    train.read_role(loop.train_role);
    train.read_time(loop.train);
    train->read_size("gradient", loop.gradient);
    train->read_number("overlap", loop.overlap, 0, 1);
  } else if (!reader.has("train")) {
    reader.missing("train", "train: {role: learner, time: 60s, gradient: 14GB}");
  }
  reader.read_size("weights", loop.weights);
  read_stream(reader, spec, loop);
  read_search(reader, spec, loop);
}

}  // namespace orrery::scenarios
