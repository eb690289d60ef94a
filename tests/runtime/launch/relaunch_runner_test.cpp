#include "runtime/launch/relaunch_runner.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr Duration kLong = Duration::seconds(60);

struct Answer {
  std::vector<std::string> replaced;
  std::string error;
};

std::future<Answer> asked(RelaunchRunner& runner,
                          const std::vector<std::string>& nodes,
                          Duration timeout = kLong) {
  const auto promise = std::make_shared<std::promise<Answer>>();
  auto answer = promise->get_future();
  runner.run(nodes, "{}", timeout, [promise](std::vector<std::string> replaced, std::string error) {
    promise->set_value({std::move(replaced), std::move(error)});
  });
  return answer;
}

Answer answer_of(std::future<Answer>& answer) {
  if (answer.wait_for(kPatience) != std::future_status::ready) {
    ADD_FAILURE() << "no answer";
    return {};
  }
  return answer.get();
}

/// What a shell script answers that gets "script" as its own name and the nodes as arguments.
Answer answer_to(const std::string& script,
                 const std::vector<std::string>& nodes,
                 Duration timeout = kLong) {
  RelaunchRunner runner({"sh", "-c", script, "script"});
  auto answer = asked(runner, nodes, timeout);
  return answer_of(answer);
}

/// Whether `holds` becomes true.
bool comes(const std::function<bool()>& holds) {
  const auto begun = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::steady_clock::now() - begun > kPatience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Whether the process of this number ends; there may be no parent to reap it.
bool ends(const std::string& pid) {
  return comes([&] {
    std::ifstream in("/proc/" + pid + "/stat");
    std::string number;
    std::string name;
    std::string state;
    return !(in >> number >> name >> state) || state == "Z";
  });
}

TEST(RelaunchRunner, TellsWhichNodesWereReplaced) {
  const Answer answer = answer_to("echo $2; echo $1 $2", {"gpu-1", "gpu-2", "gpu-3"});
  EXPECT_THAT(answer.replaced, ElementsAre("gpu-2", "gpu-1"));
  EXPECT_EQ(answer.error, "");
}

TEST(RelaunchRunner, OneThatPrintsNothingReplacedNone) {
  const Answer answer = answer_to("true", {"gpu-1"});
  EXPECT_THAT(answer.replaced, IsEmpty());
  EXPECT_EQ(answer.error, "");
}

TEST(RelaunchRunner, ACodeIsAFailureWithItsLastComplaint) {
  const Answer answer =
      answer_to("echo gpu-1; echo first >&2; echo no quota >&2; exit 3", {"gpu-1"});
  EXPECT_THAT(answer.replaced, IsEmpty());
  EXPECT_EQ(answer.error, "relaunch_command sh ended with code 3: no quota");
  EXPECT_EQ(answer_to("kill -9 $$", {"gpu-1"}).error, "relaunch_command sh ended with code 137");
}

TEST(RelaunchRunner, OtherWordsThanNodesAreAFailure) {
  const Answer answer = answer_to("echo Submitted batch job 5", {"gpu-1"});
  EXPECT_THAT(answer.replaced, IsEmpty());
  EXPECT_THAT(answer.error, HasSubstr("printed 'Submitted', which is no node"));
  EXPECT_THAT(answer_to("head -c 2000000 /dev/zero", {"gpu-1"}).error, HasSubstr("1 MiB"));
}

TEST(RelaunchRunner, NothingGoesThroughAShell) {
  RelaunchRunner runner({"printf", "%s\n"});
  auto answer = asked(runner, {"$(id)", "a b"});
  EXPECT_THAT(answer_of(answer).error, HasSubstr("printed 'a', which is no node"));
}

TEST(RelaunchRunner, AProgramThatCannotBeRunIsNamed) {
  RelaunchRunner runner({"/no/such/program"});
  auto answer = asked(runner, {"gpu-1"});
  EXPECT_EQ(answer_of(answer).error,
            "relaunch_command /no/such/program cannot be run: No such file or directory");
}

TEST(RelaunchRunner, TakesItsTimeAndNoMoreWithItsChildren) {
  const TemporaryFolder folder;
  const Answer answer = answer_to("sleep 600 & echo $! > " + folder.file("child") + "; sleep 600",
                                  {"gpu-1"},
                                  Duration::seconds(1));
  EXPECT_THAT(answer.error, HasSubstr("killed after 1 s"));
  std::string child;
  std::ifstream(folder.file("child")) >> child;
  ASSERT_FALSE(child.empty());
  EXPECT_TRUE(ends(child));
}

TEST(RelaunchRunner, AChildThatIsLeftBehindDoesNotHoldTheAnswerBack) {
  const Answer answer = answer_to("sleep 600 & echo $1", {"gpu-1"});
  EXPECT_THAT(answer.replaced, ElementsAre("gpu-1"));
}

TEST(RelaunchRunner, SeveralRunAtOnceUpToABound) {
  const TemporaryFolder folder;
  RelaunchRunner runner(
      {"sh", "-c", "while ! test -e $0; do sleep 0.05; done; echo $1", folder.file("go")});
  std::vector<std::future<Answer>> answers;
  for (std::size_t i = 0; i <= RelaunchRunner::kAtOnceMax; ++i)
    answers.push_back(asked(runner, {"gpu-" + std::to_string(i)}));
  EXPECT_THAT(answer_of(answers.back()).error, HasSubstr("under way already"));
  answers.pop_back();
  std::ofstream(folder.file("go")) << "";
  for (auto& answer : answers) EXPECT_EQ(answer_of(answer).replaced.size(), 1U);
}

TEST(RelaunchRunner, StoppingKillsAndNeverAnswers) {
  const TemporaryFolder folder;
  std::atomic<bool> answered = false;
  RelaunchRunner runner({"sh", "-c", "touch $0; sleep 600", folder.file("begun")});
  runner.run({"gpu-1"}, "{}", kLong, [&](auto, auto) { answered = true; });
  ASSERT_TRUE(comes([&] { return std::filesystem::exists(folder.file("begun")); }));
  runner.stop();
  runner.run({"gpu-1"}, "{}", kLong, [&](auto, auto) { answered = true; });
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace orrery::runtime
