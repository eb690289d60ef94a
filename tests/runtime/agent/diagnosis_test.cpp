// What a worker says of its coming end, and that it goes with the report of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace diagnosis_tests {

constexpr JobId kJob{7};

class DiagnosisTest : public AgentTest {
 protected:
  void speak(const std::string& say, const std::string& wait, int code = 3) {
    ASSERT_TRUE(controller_.until_welcomed());
    JobSpec spec;
    spec.name = "default.speech";
    // A sub-master has a number among the roles, though nobody can blame it.
    spec.roles = {role_of(""), role_of("exec sleep 1000"), role_of("exec sleep 1000")};
    spec.roles[0].command = {ORRERY_WORKER_IN_TEST, "speak"};
    spec.roles[0].environment = {{"SAY",
                                  R"({"hello":{"worker":"7-1-0","token":"TOKEN"}})"
                                  "\n" +
                                      say},
                                 // Answered in the order of what is kept; a line that is broken is
                                 // answered before.
                                 {"OVER",
                                  R"({"diagnosis":{"fault":"peer","role":"over","rank":0}})"
                                  "\n"},
                                 {"GO", path("go")},
                                 {"WAIT", wait},
                                 {"CODE", std::to_string(code)}};
    spec.roles[1].name = "main-master";
    spec.roles[1].master_of = RoleIndex{0};
    spec.roles[2].name = "actor";
    controller_.start_job(kJob, spec, 2, Incarnation{1});
    ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready, 2));
  }

  void go() const { go_.open(); }

  std::string log() const { return text_of_file(agent_.folder_of("7-1-0") + "/log"); }

  /// Waits until the agent has read all that the worker said.
  bool is_heard() {
    return eventually([&] { return log().find("no role over") != std::string::npos; });
  }

  /// What the report of its end says.
  Diagnosis reported() {
    EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
    Diagnosis found;
    controller_.set([&](const StubController& c) {
      for (const WorkersChanged& each : c.reports_)
        if (each.job == kJob && each.fact == WorkerFact::Exited) found = *each.diagnosis;
    });
    return found;
  }

  void new_agent(const std::function<void()>& between) {
    agent_.kill(SIGKILL);
    between();
    controller_.set([](StubController& c) { c.reports_.clear(); });
    agent_.start();
  }

  Gate go_{path("go")};
};

TEST_F(DiagnosisTest, TheLastOneGoesWithTheReport) {
  speak(
      "{\"diagnosis\":{\"fault\":\"node\",\"message\":\"first\"}}\n"
      "{\"diagnosis\":{\"fault\":\"peer\",\"role\":\"actor\",\"rank\":1}}\n"
      "{\"diagnosis\":{\"fault\":\"peer\",\"role\":\"actor\",\"rank\":3,"
      "\"message\":\"it\\u0007 hung\\n up\\u007f\"}}\n",
      "after");
  go();
  EXPECT_EQ(reported(), (Diagnosis{Blame::Peer, RoleIndex{2}, 3, "it  hung  up "}));
}

TEST_F(DiagnosisTest, WhatWasSaidInTheLastInstantIsHeardBeforeTheEnd) {
  speak("{\"diagnosis\":{\"fault\":\"node\"}}\n", "before");
  const ProcessId shim = agent_.processes("7-1-0").shim;
  // The agent finds the connection, the words and the end all at once.
  agent_.signal(SIGSTOP);
  go();
  EXPECT_TRUE(eventually([&] { return !is_alive(shim); }));
  agent_.signal(SIGCONT);
  EXPECT_EQ(reported(), (Diagnosis{Blame::Node, {}, 0, ""}));
}

TEST_F(DiagnosisTest, AnAgentThatStartsAnewStillKnowsIt) {
  speak("{\"diagnosis\":{\"fault\":\"mine\",\"message\":\"a bug\"}}\n", "after");
  ASSERT_TRUE(is_heard());
  new_agent([] {});
  go();
  EXPECT_EQ(reported(), (Diagnosis{Blame::Mine, {}, 0, "a bug"}));
}

TEST_F(DiagnosisTest, AnEndWhileNoAgentLivedHasIt) {
  speak("{\"diagnosis\":{\"fault\":\"node\",\"message\":\"no link\"}}\n", "after");
  ASSERT_TRUE(is_heard());
  const ProcessId shim = agent_.processes("7-1-0").shim;
  new_agent([&] {
    go();
    EXPECT_TRUE(eventually([&] { return !is_alive(shim); }));
  });
  EXPECT_EQ(reported(), (Diagnosis{Blame::Node, {}, 0, "no link"}));
}

TEST_F(DiagnosisTest, ItSaysNothingOfASuccess) {
  speak("{\"diagnosis\":{\"fault\":\"node\"}}\n", "after", 0);
  go();
  EXPECT_EQ(reported(), Diagnosis{});
}

TEST_F(DiagnosisTest, ALongMessageIsCutBetweenTwoCharacters) {
  speak("{\"diagnosis\":{\"fault\":\"mine\",\"message\":\"" + std::string(511, 'x') +
            "\xc3\xa4\"}}\n",
        "after");
  go();
  EXPECT_EQ(reported().message, std::string(511, 'x'));
}

TEST_F(DiagnosisTest, WhatMakesNoSenseIsAnsweredAndNotKept) {
  speak(R"({"diagnosis":{"fault":"node","message":"kept"}})"
        "\n"
        R"({"diagnosis":{"fault":"none"}})"
        "\n"
        R"({"diagnosis":{}})"
        "\n"
        R"({"diagnosis":{"fault":"peer","role":"actor"}})"
        "\n"
        R"({"diagnosis":{"fault":"peer","rank":0}})"
        "\n"
        R"({"diagnosis":{"fault":"peer","role":"actor","rank":-1}})"
        "\n"
        R"({"diagnosis":{"fault":"peer","role":"actor","rank":2147483648}})"
        "\n"
        R"({"diagnosis":{"fault":"node","rank":0}})"
        "\n"
        R"({"diagnosis":{"fault":"mine","message":7}})"
        "\n"
        R"({"diagnosis":{"fault":"peer","role":"critic","rank":0}})"
        "\n",
        "after");
  ASSERT_TRUE(is_heard());
  const std::string text = log();
  const auto times = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(times("diagnosis: needed a fault: mine, node or peer"), 2U) << text;
  EXPECT_EQ(times("diagnosis: needed with fault peer a role, and a rank inside it"), 4U) << text;
  EXPECT_EQ(times("diagnosis: role and rank stand with fault peer alone"), 1U) << text;
  EXPECT_EQ(times("diagnosis: its message is no text"), 1U) << text;
  EXPECT_EQ(times("diagnosis: its job has no role critic; needed one of main, actor"), 1U) << text;
  go();
  EXPECT_EQ(reported(), (Diagnosis{Blame::Node, {}, 0, "kept"}));
}

}  // namespace diagnosis_tests
}  // namespace orrery::runtime
