// An agent's certificate proves which node speaks. What it says of another node, of its workers or
// of what that was asked is ignored for a named reason: one row at least for each kind of message,
// and for each kind of fact. Until a new kind of message has rows, this file does not compile; a
// new kind of fact is refused of every node unless it has some.

#include <mutex>
#include <type_traits>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "tests/runtime/controller/agent_stream.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"

namespace orrery::runtime::tests {
namespace {

/// Nodes a and b, and a job whose workers all run on a: one worker, and one that is led by another.
class Scene {
 public:
  enum class Stage : std::uint8_t {
    Starting,  ///< The workers were told to start.
    Running,   ///< They run.
    Checked,   ///< There is no job: node a is asked to check itself.
  };

  explicit Scene(Stage stage) {
    ControllerConfig config = quick_config();
    config.settings.node_lease = Duration::seconds(3600);  // No node needs to beat.
    config.node_check = stage == Stage::Checked;
    daemon = start_daemon(
        transport,
        [](const Leadership&) {
          return Result<std::unique_ptr<StateStore>>(std::make_unique<MemoryStore>());
        },
        config);
    a = std::make_unique<AgentStream>(transport, "a");
    a->say_hello(4);
    a->register_itself();
    if (stage == Stage::Checked) {
      EXPECT_TRUE(eventually([&] { return !a->heard<CheckRequest>().empty(); }));
    }
    b = std::make_unique<AgentStream>(transport, "b");
    b->say_hello(0);
    b->register_itself();
    if (stage == Stage::Checked) return;
    JobBuilder builder("j");
    builder.follower("master", 1).role("led", 1);
    builder.raw().roles[1].master_of = RoleIndex{2};
    job = submitted(*daemon, builder.spec()).job;
    EXPECT_TRUE(eventually([&] { return orders<StartWorkers>() > 0; })) << history_of(*daemon);
    if (stage == Stage::Starting) return;
    for (std::size_t rank = 0; rank < 3; ++rank)
      a->say(report(WorkerFact::Running, 0, static_cast<std::uint32_t>(rank)));
    EXPECT_TRUE(eventually([&] { return phase() == JobPhase::Running; })) << history_of(*daemon);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const Worker w = worker(rank);
      listed.push_back({job, w.born, w.incarnation, w.birth_rank});
    }
    first = worker().incarnation;
    a->say(a->beat(listed));
    settle();
  }

  /// What was said has been decided on, and what that has come to is durable.
  void settle() {
    EXPECT_EQ(asked(*daemon, StopRequested{0, JobId{99}}).kind, RequestOutcome::Kind::Refused);
  }

  template <class Look>
  auto look(Look look) {
    return looked(*daemon, std::move(look));
  }

  JobPhase phase() { return phase_of(*daemon, job); }

  Worker worker(std::size_t rank = 0) {
    return look([&](const ControlView& view) { return view.state.job(job).workers.at(rank); });
  }

  Generation generation() {
    return look([&](const ControlView& view) { return view.state.job(job).row.generation; });
  }

  NodeState node_a() {
    return look([&](const ControlView& view) { return view.state.nodes.at(a->id().index()); });
  }

  /// Of one worker of a's.
  Reports report(WorkerFact fact, std::int32_t exit_code = 0, std::uint32_t rank = 0) {
    const Worker w = worker(rank);
    WorkersChanged out{job, w.born, w.incarnation, fact, w.birth_rank, 1, exit_code, {}, {}};
    if (fact == WorkerFact::Running) out.environment = w.born;
    return {{out}};
  }

  /// Orders of one kind that a has heard.
  template <class Body>
  std::size_t orders() {
    std::size_t out = 0;
    for (const Order& order : a->heard<Order>()) out += std::holds_alternative<Body>(order.body);
    return out;
  }

  /// Words of agents that were refused as not their own, so far.
  std::uint64_t refused() {
    return look([](const ControlView&) {  // On the thread that counts.
      return mark_counts[static_cast<std::size_t>(Mark::LeaderRejectedReport)];
    });
  }

  std::uint64_t journaled() {
    return look([](const ControlView& view) { return view.state.sequence.value; });
  }

  FakeTransport transport;
  std::unique_ptr<ControllerDaemon> daemon;
  std::unique_ptr<AgentStream> a;
  std::unique_ptr<AgentStream> b;
  std::unique_ptr<AgentStream> second;  ///< A stream of the node that says hello once more.
  JobId job;
  std::vector<RunningWorker> listed;  ///< Those of the job, on a.
  Incarnation first;                  ///< Of theirs.
  std::mutex mutex;
  std::string log;  ///< What came of a log that is read.
  std::unique_ptr<Subscription> reading;
};

/// Something that can be said of a's.
struct Word {
  std::string name;
  std::function<void(Scene&, AgentStream& stream)> say;

  /// Whether what it says has come about.
  std::function<bool(Scene&)> has_effect = [](Scene&) { return false; };

  Scene::Stage stage = Scene::Stage::Running;

  /// What comes before it.
  std::function<void(Scene&)> prepare = [](Scene&) {};

  /// No node may report it: an agent's own report of it is refused too.
  bool always_rejected = false;

  /// Whether b was told why; else its word is counted as a foreign one.
  std::function<bool(Scene&)> is_told;
};

void PrintTo(const Word& word, std::ostream* out) { *out << word.name; }

using Words = std::vector<Word>;

template <class Kind>
using For = std::type_identity<Kind>;

// --- one function for each kind of message ---

Words words(For<Hello>) {
  Word word;
  word.name = "HelloInItsName";
  word.say = [](Scene& s, AgentStream& stream) {
    s.second = std::make_unique<AgentStream>(s.transport, stream.name());
    s.second->say(stream.hello("a", 2, 4));
  };
  word.has_effect = [](Scene& s) { return s.a->is_over() && !s.second->heard<Welcome>().empty(); };
  word.is_told = [](Scene& s) {
    const auto refusals = s.second->heard<Refusal>();
    return refusals.size() == 1 &&
           refusals[0].reason.find("certificate is for agent b") != std::string::npos;
  };
  return {word};
}

Words words(For<Beat>) {
  Word list;
  list.name = "BeatWithItsList";
  list.say = [](Scene& s, AgentStream& stream) {
    Beat beat = s.a->beat();
    beat.number = 3;  // Of either node.
    stream.say(beat);
  };
  list.has_effect = [](Scene& s) { return s.phase() != JobPhase::Running; };
  Word measured;
  measured.name = "BeatWithItsMeasurements";
  measured.say = [](Scene& s, AgentStream& stream) {
    Beat beat = stream.beat(&stream == s.a.get() ? s.listed : std::vector<RunningWorker>{});
    beat.measured.push_back({s.job, s.generation(), Rank{0}, {{"throughput", 1}}});
    stream.say(beat);
  };
  measured.has_effect = [](Scene& s) {
    return s.look([&](const ControlView& v) { return !v.state.job(s.job).profilings->empty(); });
  };
  return {list, measured};
}

Words words(For<Reports>) {
  const auto row = [](std::string name, WorkerFact fact, std::int32_t exit_code) {
    Word word;
    word.name = std::move(name);
    word.say = [=](Scene& s, AgentStream& stream) { stream.say(s.report(fact, exit_code)); };
    word.has_effect = [](Scene& s) {
      return s.worker().is_gone() || s.worker().incarnation > s.first;
    };
    return word;
  };
  Word running = row("ReportOfRunning", WorkerFact::Running, 0);
  running.stage = Scene::Stage::Starting;
  running.has_effect = [](Scene& s) { return s.worker().state == WorkerState::Ready; };
  Word ready = row("ReportOfReady", WorkerFact::Ready, 0);
  ready.has_effect = [](Scene& s) { return s.worker().environment == Generation{0}; };
  return {row("ReportOfSuccess", WorkerFact::Exited, 0),
          row("ReportOfFailure", WorkerFact::Exited, 1),
          row("ReportOfLoss", WorkerFact::Lost, 0),
          row("ReportOfLaunchFailed", WorkerFact::LaunchFailed, 0),
          running,
          ready};
}

Words words(For<WorkerNotice>) {
  const auto row = [](std::string name, bool failed) {
    Word word;
    word.name = std::move(name);
    word.say = [=](Scene& s, AgentStream& stream) {
      const Worker w = s.worker();
      stream.say(WorkerNotice{s.job, w.incarnation, w.birth_rank, "it is unwell", "tail", failed});
    };
    word.has_effect = [](Scene& s) {
      return history_of(*s.daemon).find("it is unwell") != std::string::npos;
    };
    return word;
  };
  return {row("NoticeOfAFailure", true), row("NoticeThatIsAWarning", false)};
}

Words words(For<LogChunk>) {
  Word word;
  word.name = "LogThatItWasAskedFor";
  word.prepare = [](Scene& s) {
    s.reading = s.daemon->read_log({s.job}, [&s](const LogPiece& piece) {
      const std::lock_guard lock(s.mutex);
      s.log += piece.data;
    });
    ASSERT_TRUE(eventually([&] { return !s.a->heard<LogRequest>().empty(); }));
  };
  word.say = [](Scene& s, AgentStream& stream) {
    stream.say(LogChunk{s.a->heard<LogRequest>().at(0).request, "it says so", false, {}});
  };
  word.has_effect = [](Scene& s) {
    const std::lock_guard lock(s.mutex);
    return !s.log.empty();
  };
  return {word};
}

Words words(For<CheckResult>) {
  Word word;
  word.name = "CheckThatItWasAskedFor";
  word.stage = Scene::Stage::Checked;
  const auto answer = [](Scene& s, AgentStream& stream, std::size_t round) {
    CheckResult result;
    result.request = s.a->heard<CheckRequest>().at(round).request;
    stream.say(result);
  };
  word.prepare = [=](Scene& s) {
    answer(s, *s.a, 0);
    ASSERT_TRUE(eventually([&] { return s.a->heard<CheckRequest>().size() == 2; }));
  };
  word.say = [=](Scene& s, AgentStream& stream) { answer(s, stream, 1); };
  word.has_effect = [](Scene& s) { return !s.node_a().lost_device; };
  return {word};
}

Words words(For<WorkerTokens>) {
  Word word;
  word.name = "TokensOfItsWorkers";
  static const std::string kToken = std::string(kWorkerTokenPrefix) + std::string(64, '0');
  word.say = [](Scene& s, AgentStream& stream) {
    const Worker w = s.worker();
    stream.say(WorkerTokens{{{s.job, w.incarnation, w.birth_rank, kToken}}});
  };
  word.has_effect = [](Scene& s) {
    return s.look(
        [](const ControlView& v) { return v.tokens->owner(kToken, v.state).has_value(); });
  };
  Word place = word;
  place.name = "PlacesWhereItsWorkersTakeCalls";
  place.say = [](Scene& s, AgentStream& stream) {
    const Worker w = s.worker();
    stream.say(WorkerTokens{{{s.job, w.incarnation, w.birth_rank, kToken, 40123, {}}}});
  };
  place.has_effect = [](Scene& s) {
    const Worker w = s.worker();
    return s.look([&](const ControlView& v) {
      return v.tokens->endpoint({s.job, w.incarnation, w.birth_rank}) != nullptr;
    });
  };
  return {word, place};
}

// --- facts, by the kind of their body ---

Word fact(std::string name, std::function<EventBody(Scene&)> make) {
  Word word;
  word.name = "FactOf" + std::move(name);
  word.say = [make = std::move(make)](Scene& s, AgentStream& stream) {
    Fact fact;
    fact.body = make(s);
    fact.leaves_in = Duration::seconds(60);
    stream.say(fact);
  };
  return word;
}

Words facts(For<ProgressReported>) {
  Word word = fact("Progress", [](Scene& s) {
    return ProgressReported{s.job, s.generation(), 5, 1};
  });
  word.has_effect = [](Scene& s) {
    return s.look([&](const ControlView& v) { return v.state.job(s.job).row.progress.done == 5; });
  };
  return {word};
}

Words facts(For<SubMasterSaid>) {
  Word word = fact("SubMaster", [](Scene& s) {
    const auto incident =
        s.look([&](const ControlView& v) { return v.state.job(s.job).failover->open.number; });
    return SubMasterSaid{
        s.job, RoleIndex{2}, s.worker(1).incarnation, incident, SubMasterMessage::AskState};
  });
  word.prepare = [](Scene& s) {
    s.a->say(s.report(WorkerFact::Exited, 1, 2));
    ASSERT_TRUE(eventually([&] { return s.orders<TellSubMaster>() == 1; }))
        << history_of(*s.daemon);
  };
  word.has_effect = [](Scene& s) { return s.orders<TellSubMaster>() == 2; };
  return {word};
}

Words facts(For<DevicesLost>) {
  Word word = fact("LostDevices", [](Scene& s) { return DevicesLost{s.a->id(), 0b1000}; });
  word.has_effect = [](Scene& s) { return s.node_a().lost_device; };
  return {word};
}

Words facts(For<NodeHeld>) {
  Word word = fact("AHeldNode", [](Scene& s) { return NodeHeld{s.a->id(), 0}; });
  word.has_effect = [](Scene& s) { return s.node_a().lost_device; };
  return {word};
}

Words facts(For<NodeLeaving>) {
  Word word = fact("ANodeThatLeaves", [](Scene& s) { return NodeLeaving{s.a->id(), {}}; });
  word.has_effect = [](Scene& s) { return !s.node_a().leaves_at.is_never(); };
  return {word};
}

/// All others: no agent has a say in them.
template <class Kind>
Words facts(For<Kind>) {
  Word word = fact(std::string(event_kind_name(EventKinds(std::in_place_type<Kind>).index())),
                   [](Scene& s) {
                     Kind kind;
                     if constexpr (requires { kind.job = s.job; }) kind.job = s.job;
                     if constexpr (requires { kind.node = s.a->id(); }) kind.node = s.a->id();
                     if constexpr (requires { kind.generation = Generation{}; })
                       kind.generation = s.generation();
                     if constexpr (requires { kind.incarnation = Incarnation{}; })
                       kind.incarnation = s.worker().incarnation;
                     if constexpr (requires { kind.spec = std::make_shared<const JobSpec>(); })
                       kind.spec = std::make_shared<const JobSpec>(JobBuilder("forged").spec());
                     if constexpr (requires { kind.epoch = Epoch{}; }) kind.epoch = Epoch{7};
                     return kind;
                   });
  word.always_rejected = true;
  return {word};
}

/// The rows of all alternatives of a variant. `rows` is called with For<each>.
template <class Variant, class Rows>
Words of_each(Rows rows) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    Words out;
    const auto add = [&](Words some) {
      EXPECT_FALSE(some.empty());
      std::move(some.begin(), some.end(), std::back_inserter(out));
    };
    (add(rows(For<std::variant_alternative_t<I, Variant>>{})), ...);
    return out;
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>{});
}

Words words(For<Fact>) {
  return of_each<EventKinds>([](auto kind) { return facts(kind); });
}

class RejectedReports : public ::testing::TestWithParam<Word> {};

TEST_P(RejectedReports, IsIgnoredForANamedReasonAndTheNodesOwnCounts) {
  const Word& word = GetParam();
  Scene scene(word.stage);
  word.prepare(scene);
  if (HasFatalFailure()) return;
  scene.settle();
  ASSERT_FALSE(word.has_effect(scene)) << "before it is reported";
  for (AgentStream* stream : {scene.b.get(), scene.a.get()}) {
    SCOPED_TRACE("said by " + stream->name());
    if (stream == scene.a.get() && !word.always_rejected) {
      word.say(scene, *stream);
      EXPECT_TRUE(eventually([&] { return word.has_effect(scene); })) << history_of(*scene.daemon);
      continue;
    }
    const std::uint64_t journaled = scene.journaled();
    const std::uint64_t refused = scene.refused();
    word.say(scene, *stream);
    scene.settle();
    EXPECT_EQ(scene.journaled(), journaled + 1) << "nothing but what settles is in the journal";
    EXPECT_FALSE(word.has_effect(scene)) << history_of(*scene.daemon);
    EXPECT_TRUE(word.is_told ? word.is_told(scene) : scene.refused() > refused)
        << "a word that is not its own is counted";
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind,
                         RejectedReports,
                         ::testing::ValuesIn(of_each<AgentMessage>([](auto kind) {
                           return words(kind);
                         })),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace orrery::runtime::tests
