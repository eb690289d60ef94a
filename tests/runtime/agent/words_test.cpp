// What workers and their agent say to each other, and how their logs are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/log_sender.hpp"
#include "runtime/shim/log_writer.hpp"
#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace words_tests {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr JobId kJob{7};

/// Says the lines of SAY, with its token for TOKEN, then prints every line that it hears.
const std::string kSpeaker = std::string(ORRERY_WORKER_IN_TEST) + " speak";

const std::string kHello = "{\"hello\":{\"worker\":\"7-1-0\",\"token\":\"TOKEN\"}}\n";

class WordsTest : public AgentTest {
 protected:
  void SetUp() override {
    controller_.settings_.node_lease = Duration::seconds(10);  // A beat each two seconds.
    AgentTest::SetUp();
    ASSERT_TRUE(controller_.until_welcomed());
  }

  /// A job of roles "main", which speaks, and "led", which main leads.
  void speak(const std::string& say) {
    JobSpec spec;
    spec.name = "default.speech";
    spec.roles = {role_of("exec " + kSpeaker), role_of("exec sleep 1000")};
    spec.roles[0].environment = {{"SAY", say}};
    spec.roles[0].master_of = RoleIndex{1};
    spec.roles[1].name = "led";
    controller_.start_job(kJob, spec, 2, Incarnation{1});
  }

  /// A job of roles "main", which counts as ready once it has said hello, and does so after
  /// `before`, a line of shell, and "plain", which sleeps.
  void start_one_that_is_ready_at_hello(const std::string& before) {
    JobSpec spec;
    spec.name = "default.speech";
    spec.roles = {role_of(before +
                          "; SAY='{\"hello\":{\"worker\":\"7-1-0\",\"token\":\"TOKEN\"}}'; "
                          "export SAY; exec " +
                          kSpeaker),
                  role_of("exec sleep 1000")};
    spec.roles[0].environment = {{"ORRERY_READY", "hello"}};
    spec.roles[1].name = "plain";
    controller_.start_job(kJob, spec, 2, Incarnation{1});
  }

  std::string log() const { return text_of_file(agent_.folder_of("7-1-0") + "/log"); }

  /// Waits until the worker has heard something.
  bool hears(const std::string& text) {
    return eventually([&] { return log().find(text) != std::string::npos; });
  }
};

TEST_F(WordsTest, HelloIsAnsweredByTheMembership) {
  speak("{\"hello\":{\"worker\":\"7-1-0\",\"token\":\"TOKEN\"}}");
  ASSERT_TRUE(hears("\n"));
  const std::string line = log();
  EXPECT_THAT(line,
              HasSubstr("{\"membership\":{\"generation\":1,\"rank\":0,\"world_size\":2,"
                        "\"master\":{\"address\":\"127.0.0.1\",\"port\":" +
                        std::to_string(controller_.first_port_) + "},"));
  EXPECT_THAT(line,
              HasSubstr("{\"rank\":1,\"role\":\"led\",\"local_rank\":0,\"node\":\"n0\","
                        "\"address\":\"127.0.0.1\",\"first_port\":" +
                        std::to_string(controller_.first_port_ + 1) + "}"));
  EXPECT_EQ(text_of_file(agent_.folder_of("7-1-0") + "/membership.json"), line);
}

TEST_F(WordsTest, WhereAWorkerTakesCallsIsToldTheController) {
  speak(kHello + R"({"endpoint":{"port":0}})" + "\n" +
        R"({"endpoint":{"port":40123,"certificate":"no digest"}})" + "\n" +
        R"({"endpoint":{"port":40123}})");
  EXPECT_TRUE(controller_.until([](const StubController& c) {
    return std::ranges::any_of(c.tokens_, [](const WorkerToken& told) {
      return told.job == kJob && told.birth_rank == Rank{0} && told.port == 40123 &&
             told.certificate.empty() && !told.token.empty();
    });
  }));
  EXPECT_TRUE(hears("endpoint: needed a port from 1 to 65535"));
}

TEST_F(WordsTest, TurnsAreForWorkersWithDevices) {
  speak(kHello + R"({"turn":{"word":"ask"}})" + "\n" + R"({"turn":{"word":"renew"}})" + "\n" +
        R"({"turn":{"word":"mine"}})" + "\n" + R"({"turn":{"word":"ask","lease_s":0.5}})");
  EXPECT_TRUE(hears("turn: this worker has no devices to take turns on"));
  EXPECT_TRUE(hears("turn: this worker does not have the turn; ask for it first"));
  EXPECT_TRUE(hears("turn: needed a word (ask, renew, release)"));
}

TEST_F(WordsTest, WhoLetsItsTurnPassIsKilledAndItsEndSaysWhy) {
  controller_.set([](StubController& c) { c.devices_ = 1; });
  speak(kHello + R"({"turn":{"word":"ask","lease_s":1}})");
  ASSERT_TRUE(controller_.until([](const StubController& c) {
    return std::ranges::any_of(c.notices_, [](const WorkerNotice& notice) {
      return notice.failed && notice.sentence.find(
                                  "silent for longer than its lease, so it was "
                                  "killed") != std::string::npos;
    });
  }));
  EXPECT_EQ(controller_.exit_code_of(kJob), 128 + SIGKILL);
}

TEST_F(WordsTest, HelloMakesAWorkerOneThatCanBeTold) {
  JobSpec spec;
  spec.name = "default.speech";
  spec.roles = {
      role_of("SAY='{\"hello\":{\"worker\":\"7-1-0\",\"token\":\"TOKEN\"}}'; export SAY; " +
              kSpeaker + "; exec sleep 1000"),
      role_of("exec sleep 1000")};
  spec.roles[1].name = "led";
  controller_.start_job(kJob, spec, 2, Incarnation{1});
  const auto says = [&](Rank rank, WorkerFact fact) {
    return controller_.until([&](const StubController& c) {
      for (const WorkersChanged& each : c.reports_)
        if (each.job == kJob && each.fact == fact && each.first <= rank &&
            rank.value < each.first.value + each.count)
          return true;
      return false;
    });
  };
  EXPECT_TRUE(says(Rank{0}, WorkerFact::Ready));
  EXPECT_TRUE(says(Rank{1}, WorkerFact::Running)) << "it sleeps";
  controller_.set([](StubController& c) {
    for (const WorkersChanged& each : c.reports_)
      if (each.fact == WorkerFact::Running) {
        EXPECT_EQ(each.environment, Generation{1});
      }
  });
  // Nor does a later life of the agent forget it.
  controller_.set([](StubController& c) { c.reports_.clear(); });
  agent_.kill(SIGKILL);
  agent_.start();
  EXPECT_TRUE(says(Rank{0}, WorkerFact::Ready));
  EXPECT_TRUE(says(Rank{1}, WorkerFact::Running));
}

TEST_F(WordsTest, AWorkerThatIsReadyAtHelloIsNotBefore) {
  const Gate gate(path("gate"));
  start_one_that_is_ready_at_hello(gate.wait());
  const auto is_up = [&](Rank rank) {
    return [rank](const StubController& c) {
      for (const WorkersChanged& each : c.reports_)
        if (each.job == kJob && each.first <= rank && rank.value < each.first.value + each.count &&
            (each.fact == WorkerFact::Ready || each.fact == WorkerFact::Running))
          return true;
      return false;
    };
  };
  // The plain one was ordered last, and is up.
  ASSERT_TRUE(controller_.until(is_up(Rank{1})));
  controller_.set([&](StubController& c) { EXPECT_FALSE(is_up(Rank{0})(c)); });
  gate.open();
  EXPECT_TRUE(controller_.until(is_up(Rank{0})));
}

TEST_F(WordsTest, ANewAgentAwaitsTheHelloOfAWorkerThatRuns) {
  const Gate gate(path("gate"));
  start_one_that_is_ready_at_hello("echo runs; " + gate.wait());
  ASSERT_TRUE(hears("runs"));
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  agent_.kill(SIGKILL);
  controller_.set([](StubController& c) { c.reports_.clear(); });
  agent_.start();
  // It tells at once of all that are up, of the plain one that is.
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  controller_.set([](StubController& c) {
    for (const WorkersChanged& each : c.reports_) EXPECT_EQ(each.first, Rank{1});
    c.reports_.clear();
  });
  gate.open();
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  controller_.set([](StubController& c) {
    for (const WorkersChanged& each : c.reports_) EXPECT_EQ(each.first, Rank{0});
  });
}

TEST_F(WordsTest, AChangeOfMembershipIsTold) {
  speak("{\"hello\":{\"worker\":\"7-1-0\",\"token\":\"TOKEN\"}}");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready, 2));
  ASSERT_TRUE(hears("\"generation\":1"));
  WorkerStart stays;
  stays.rank = stays.birth_rank = Rank{0};
  stays.role = RoleIndex{0};
  stays.node = NodeId{0};
  stays.incarnation = Incarnation{1};
  controller_.send(Members{kJob, Generation{2}, {stays}, {{NodeId{0}, "n0", "127.0.0.1"}}});
  controller_.order(UpdateMembership{kJob, Generation{2}, 1, {stays}});
  EXPECT_TRUE(hears("\"generation\":2,\"rank\":0,\"world_size\":1"));
  EXPECT_THAT(text_of_file(agent_.folder_of("7-1-0") + "/membership.json"),
              HasSubstr("\"generation\":2"));
}

TEST_F(WordsTest, ProfilingGoesWithTheBeatAndProgressAsAFact) {
  speak(kHello + "{\"profiling\":{\"step_time_s\":0.5}}\n{\"profiling\":{\"step_time_s\":0.25}}\n" +
        "{\"progress\":{\"done\":12,\"rate\":3.5,\"checkpointed\":true}}");
  EXPECT_TRUE(controller_.until([](const StubController& c) {
    for (const Beat& beat : c.beats_)
      for (const ProfilingChanged& each : beat.measured)
        if (each.job == kJob && each.rank == Rank{0} && each.generation == Generation{1} &&
            each.values == std::vector<ProfilingValue>{{"step_time_s", 0.25}})
          return true;
    return false;
  }));
  controller_.set([](const StubController& c) {
    ASSERT_EQ(c.facts_.size(), 1u);
    const auto& progress = std::get<ProgressReported>(c.facts_[0].body);
    EXPECT_EQ(progress.done, 12);
    EXPECT_EQ(progress.rate, 3.5);
    EXPECT_TRUE(progress.checkpointed);
  });
}

TEST_F(WordsTest, ASubMasterTalksWithItsController) {
  speak(kHello + "{\"sub_master\":{\"role\":\"led\",\"incident\":3,\"word\":\"ask_state\"}}");
  EXPECT_TRUE(controller_.until([](const StubController& c) { return !c.facts_.empty(); }));
  controller_.set([](const StubController& c) {
    const auto& said = std::get<SubMasterSaid>(c.facts_.at(0).body);
    EXPECT_EQ(said.role, RoleIndex{1});
    EXPECT_EQ(said.incident, 3u);
    EXPECT_EQ(said.word, SubMasterMessage::AskState);
  });
  TellSubMaster tell;
  tell.job = kJob;
  tell.role = RoleIndex{1};
  tell.master = RoleIndex{0};
  tell.node = NodeId{0};
  tell.incarnation = Incarnation{1};
  tell.incident = 3;
  tell.word = SubMasterOrder::State;
  controller_.order(tell);
  EXPECT_TRUE(hears("{\"sub_master\":{\"role\":\"led\",\"incident\":3,\"word\":\"state\"}}"));
}

TEST_F(WordsTest, WhatMakesNoSenseIsAnswered) {
  speak("{\"profiling\":{}}\nnothing\n{\"hello\":{\"worker\":\"9-9-9\"}}\n" + kHello +
        "{\"sub_master\":{\"role\":\"main\",\"incident\":3,\"word\":\"done\"}}\n" +
        "{\"progress\":{\"done\":-1}}\n[1]");
  EXPECT_TRUE(hears("needed hello first"));
  EXPECT_TRUE(hears("needed one JSON object on a line"));
  EXPECT_TRUE(hears("no worker of this name runs here"));
  EXPECT_TRUE(hears("this worker does not lead role main"));
  EXPECT_TRUE(hears("done and rate are at least 0"));
}

TEST_F(WordsTest, WhoOnlyKnowsTheNameOfAWorkerDoesNotSpeakForIt) {
  speak(
      "{\"hello\":{\"worker\":\"7-1-1\",\"token\":\"TOKEN\"}}\n{\"hello\":{\"worker\":\"7-1-0\"}}\n"
      "{\"progress\":{\"done\":5}}");
  EXPECT_TRUE(hears("needed the worker's own \\\"token\\\""));
  EXPECT_TRUE(hears("needed hello first"));
  controller_.set([](const StubController& c) { EXPECT_TRUE(c.facts_.empty()); });
}

TEST_F(WordsTest, ALineThatIsTooLongEndsItsConnection) {
  speak(std::string(70'000, '['));
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
}

class LogsTest : public AgentTest {
 protected:
  void SetUp() override {
    agent_.options = {"log-size=1000"};
    AgentTest::SetUp();
    ASSERT_TRUE(controller_.until_welcomed());
  }

  void ask(std::uint64_t request, std::uint64_t tail, bool follow, JobId job = kJob) {
    LogRequest asked;
    asked.request = request;
    asked.job = job;
    asked.incarnation = Incarnation{1};
    asked.birth_rank = Rank{0};
    asked.tail_bytes = tail;
    asked.follow = follow;
    controller_.send(asked);
  }

  bool has_ended(std::uint64_t request) {
    return controller_.until(
        [&](const StubController& c) { return c.log_ends_.contains(request); });
  }

  std::string log(std::uint64_t request) {
    std::string text;
    controller_.set([&](StubController& c) { text = c.logs_[request]; });
    return text;
  }
};

TEST_F(LogsTest, AFollowedLogGoesOnThroughRotationsToTheEnd) {
  const Gate go(path("go"));
  controller_.start_job(kJob,
                        role_of("echo begin; " + go.wait() +
                                "; for i in 1 2 3 4 5 6 7 8; do printf '%0199d\\n' $i; sleep 0.15; "
                                "done; echo end"),
                        1,
                        Incarnation{1});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  ask(1, 0, true);
  EXPECT_TRUE(controller_.until(
      [](const StubController& c) { return c.logs_.contains(1) && c.logs_.at(1) == "begin\n"; }));
  go.open();
  ASSERT_TRUE(has_ended(1));
  std::string all = "begin\n";
  for (char digit = '1'; digit <= '8'; ++digit) all += std::string(198, '0') + digit + "\n";
  EXPECT_EQ(log(1), all + "end\n");
  // What has ended can still be looked at, also its tail across two files.
  ask(2, 0, false);
  ask(3, 500, false);
  ask(4, 0, true);
  ASSERT_TRUE(has_ended(2) && has_ended(3) && has_ended(4));
  EXPECT_EQ(log(2), all + "end\n");
  EXPECT_EQ(log(3), (all + "end\n").substr(all.size() + 4 - 500));
  EXPECT_EQ(log(4), log(2));
}

TEST_F(LogsTest, AWorkerThatNeverStartedSaysWhyInPlaceOfAnEmptyLog) {
  RoleSpec role = role_of("true");
  role.command = {"/no/such/program"};
  controller_.start_job(kJob, role, 1, Incarnation{1});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  ask(1, 0, false);
  ask(2, 0, true);
  ASSERT_TRUE(has_ended(1) && has_ended(2));
  controller_.set([](StubController& c) {
    for (const std::uint64_t request : {1, 2}) {
      EXPECT_THAT(c.log_ends_[request], testing::HasSubstr("the worker never started: "));
      EXPECT_THAT(c.log_ends_[request], testing::HasSubstr("/no/such/program"));
    }
  });
}

TEST_F(LogsTest, TheStartBeforeThePresentOneCanBeRead) {
  controller_.start_job(kJob, role_of("echo first"), 1, Incarnation{1});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  LogRequest before;
  before.request = 1;
  before.job = kJob;
  before.incarnation = Incarnation{2};
  before.birth_rank = Rank{0};
  before.previous = true;
  before.role = RoleIndex{0};
  controller_.send(before);
  before.request = 2;
  before.incarnation = Incarnation{1};
  controller_.send(before);
  ASSERT_TRUE(has_ended(1) && has_ended(2));
  EXPECT_EQ(log(1), "first\n");
  controller_.set([](StubController& c) {
    EXPECT_THAT(c.log_ends_[2], testing::HasSubstr("no earlier start of this worker is kept"));
  });
}

TEST_F(LogsTest, ALogOfAnUnknownWorkerIsRefused) {
  ask(1, 0, true, JobId{99});
  ASSERT_TRUE(has_ended(1));
  controller_.set([](StubController& c) {
    EXPECT_EQ(c.log_ends_[1], "no log of this worker is kept on its node");
  });
}

TEST(LogSender, ReadsNothingForAFullStreamAndGoesOnInTurn) {
  const Scratch scratch{"logs"};
  const auto folder_of = [&](const WorkerName& worker) {
    return (scratch.path() / std::to_string(worker.job.value)).string();
  };
  LogSender sender(
      folder_of,
      [](const WorkerName&) { return true; },
      [](const LogRequest&) { return std::nullopt; },
      1);
  Instant now{1};
  for (const std::uint32_t job : {1U, 2U}) {
    std::filesystem::create_directories(folder_of({JobId{job}, Incarnation{1}, Rank{0}}));
    std::ofstream(folder_of({JobId{job}, Incarnation{1}, Rank{0}}) + "/log")
        << std::string(600 << 10, 'x');
    LogRequest asked;
    asked.request = job;
    asked.job = JobId{job};
    asked.incarnation = Incarnation{1};
    asked.birth_rank = Rank{0};
    sender.request(asked, now);
  }
  EXPECT_TRUE(sender.take(now, LogSender::kWaitingMax).empty());
  std::vector<std::uint64_t> order;
  std::size_t bytes = 0;
  // Each time there is room for a little, and so for one piece.
  while (!sender.next_at().is_never() && order.size() < 100) {
    now = sender.next_at();
    for (const LogChunk& chunk : sender.take(now, LogSender::kWaitingMax - 1)) {
      order.push_back(chunk.request);
      bytes += chunk.data.size();
    }
  }
  EXPECT_THAT(order, testing::ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_EQ(bytes, 2U * (600U << 10U));
}

class LogPositions : public testing::Test {
 protected:
  /// As a shim does it with files of `size` bytes.
  void write(const std::string& text, std::int64_t size, std::int32_t files) {
    LogWriter writer((scratch_.path() / "log").string(), size, files);
    writer.write(text);
  }

  /// The log from byte `since` on, behind where it begins: "20:text".
  std::string read(std::int64_t since, std::int32_t files, std::uint64_t tail_bytes = 0) {
    LogSender sender([this](const WorkerName&) { return scratch_.path().string(); },
                     [](const WorkerName&) { return true; },
                     [](const LogRequest&) { return std::nullopt; },
                     files);
    LogRequest asked;
    asked.since = since;
    asked.tail_bytes = tail_bytes;
    sender.request(asked, Instant{1});
    std::string out;
    for (const LogChunk& chunk : sender.take(Instant{1}, 0))
      out += (out.empty() ? std::to_string(chunk.begin) + ":" : "") + chunk.data;
    return out;
  }

  const Scratch scratch_{"positions"};
};

TEST_F(LogPositions, CountWhatRotationsHaveTakenAway) {
  write("0123456789abcdefghijklmno", 10, 2);  // Three files, of which two are kept.
  EXPECT_EQ(read(0, 2), "10:abcdefghijklmno");
  EXPECT_EQ(read(13, 2), "13:defghijklmno");
  EXPECT_EQ(read(22, 2), "22:mno");
  EXPECT_EQ(read(0, 2, 4), "21:lmno");
  EXPECT_EQ(read(23, 2, 4), "23:no");
}

TEST_F(LogPositions, AreKnownOfOneFileToo) {
  write("0123", 10, 2);
  EXPECT_EQ(read(1, 2), "1:123");
}

TEST_F(LogPositions, AreKnownWhereOneFileIsKept) {
  write("0123456789abc", 10, 1);
  EXPECT_EQ(read(0, 1), "10:abc");
  EXPECT_EQ(read(11, 1), "11:bc");
}

// As shims before an upgrade leave it.
TEST_F(LogPositions, WhereNothingTellsThemAllIsSent) {
  write("0123456789abc", 10, 2);
  std::filesystem::remove(scratch_.path() / "log.begin");
  EXPECT_EQ(read(5, 2), "-1:0123456789abc");
}

TEST_F(LogPositions, AFollowedLogGoesOnThroughFilesThatCameAtOnce) {
  LogSender sender([this](const WorkerName&) { return scratch_.path().string(); },
                   [](const WorkerName&) { return true; },
                   [](const LogRequest&) { return std::nullopt; },
                   3);
  LogWriter writer((scratch_.path() / "log").string(), 10, 3);
  writer.write("0123");
  LogRequest asked;
  asked.follow = true;
  sender.request(asked, Instant{1});
  ASSERT_EQ(sender.take(Instant{1}, 0).at(0).data, "0123");
  writer.write("456789abcdefghijklm");
  const std::vector<LogChunk> next = sender.take(sender.next_at(), 0);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].begin, 4);
  EXPECT_EQ(next[0].data, "456789abcdefghijklm") << "the one between was left out";
  writer.write("nopqrst0123456789ABCDEFGHIJKLMNO");
  std::vector<LogChunk> last = sender.take(sender.next_at(), 0);
  for (LogChunk& more : sender.take(sender.next_at(), 0)) last.push_back(std::move(more));
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last.back().begin + static_cast<std::int64_t>(last.back().data.size()), 55);
}

/// A slow network between an agent and its controller: what the agent says passes in small pieces.
class SlowNetwork {
 public:
  SlowNetwork(const std::string& agents, std::string controller)
      : controller_(std::move(controller)), listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    const sockaddr_un address = address_of(agents);
    EXPECT_EQ(bind(listener_.get(), as_any(address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); poll(nullptr, 0, 1)) turn();
    });
  }

 private:
  struct Carried {
    Descriptor agent;
    Descriptor controller;
  };

  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }

  static const sockaddr* as_any(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
  }

  static bool is_readable(int file) {
    pollfd polled{file, POLLIN, 0};
    return poll(&polled, 1, 0) > 0;
  }

  /// Whether the connection lives on.
  static bool pass(int from, int to) {
    if (!is_readable(from)) return true;
    char bytes[8 << 10];
    const ssize_t got = recv(from, bytes, sizeof bytes, 0);
    return got > 0 && send(to, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }

  /// A turn in each millisecond at most: that is what makes it slow.
  void turn() {
    if (is_readable(listener_.get())) {
      Carried& added = carried_.emplace_back();
      added.agent = Descriptor(accept(listener_.get(), nullptr, nullptr));
      added.controller = Descriptor(socket(AF_UNIX, SOCK_STREAM, 0));
      const sockaddr_un address = address_of(controller_);
      EXPECT_EQ(connect(added.controller.get(), as_any(address), sizeof address), 0);
    }
    std::erase_if(carried_, [](const Carried& each) {
      return !pass(each.controller.get(), each.agent.get()) ||
             !pass(each.agent.get(), each.controller.get());
    });
  }

  std::string controller_;
  Descriptor listener_;
  std::vector<Carried> carried_;  ///< The thread's own.
  std::jthread thread_;
};

TEST(SlowLogs, ALongLogComesWholeAndBreaksNoStream) {
  constexpr std::size_t kBytes = 16 << 20;
  const Scratch scratch{"slow"};
  const auto path = [&](const std::string& name) { return (scratch.path() / name).string(); };
  StubController controller("unix:" + path("link"));
  const SlowNetwork network(path("slow"), path("link"));
  AgentProcess agent(path("state"), "unix:" + path("slow"));
  agent.options = {"log-size=" + std::to_string(2 * kBytes)};
  agent.start();
  ASSERT_TRUE(controller.until_welcomed());
  controller.start_job(kJob,
                       role_of("head -c " + std::to_string(kBytes) + " /dev/zero | tr '\\0' x"),
                       1,
                       Incarnation{1});
  ASSERT_TRUE(controller.until_report(kJob, WorkerFact::Exited));
  LogRequest asked;
  asked.request = 1;
  asked.job = kJob;
  asked.incarnation = Incarnation{1};
  asked.birth_rank = Rank{0};
  controller.send(asked);
  EXPECT_TRUE(controller.until(
      [](const StubController& c) { return c.log_ends_.contains(1) || c.hellos_.size() > 1; }));
  controller.set([&](StubController& c) {
    EXPECT_EQ(c.logs_[1].size(), kBytes);
    EXPECT_EQ(c.log_ends_[1], "");
    EXPECT_EQ(c.hellos_.size(), 1u) << "the stream broke";
  });
}

}  // namespace words_tests
}  // namespace orrery::runtime
