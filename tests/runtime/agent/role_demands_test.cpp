// What roles ask of a node beside a process: environments, volumes, users, images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/agent/port_claims.hpp"
#include "runtime/agent/volumes.hpp"
#include "runtime/agent/worker_user.hpp"
#include "tests/runtime/agent/stub_controller.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace role_demands_tests {

using ::testing::HasSubstr;

constexpr JobId kJob{7};

class RoleDemandsTest : public AgentTest {
 protected:
  void SetUp() override {}  // Each test starts the agent with options of its own.

  void start_agent(std::vector<std::string> options = {}) {
    agent_.options = std::move(options);
    std::size_t before = 0;
    controller_.set([&](const StubController& c) { before = c.hellos_.size(); });
    agent_.start();
    ASSERT_TRUE(
        controller_.until([&](const StubController& c) { return c.hellos_.size() > before; }));
    ASSERT_TRUE(controller_.until_welcomed());
  }

  void start(const RoleSpec& role, Incarnation incarnation = Incarnation{1}) {
    controller_.start_job(kJob, role, 1, incarnation);
  }

  /// One worker of a job of its own, with one port.
  void start_at(std::int32_t port, JobId id, const std::string& script) {
    JobSpec spec;
    spec.name = "default.port" + std::to_string(id.value);
    spec.roles = {role_of(script)};
    controller_.send(JobKnown{id, std::make_shared<const JobSpec>(spec)});
    WorkerStart start;
    start.rank = start.birth_rank = Rank{0};
    start.role = RoleIndex{0};
    start.node = NodeId{0};
    start.incarnation = Incarnation{1};
    start.first_port = port;
    controller_.send(Members{id, Generation{1}, {start}, {{NodeId{0}, "n0", "127.0.0.1"}}});
    controller_.order(StartWorkers{id, Generation{1}, 1, {start}});
  }

  std::string log(const std::string& worker = "7-1-0") const {
    return text_of_file(agent_.folder_of(worker) + "/log");
  }

  bool is_told(const std::string& text) {
    return controller_.until([&](const StubController& c) {
      for (const WorkerNotice& each : c.notices_)
        if (each.sentence.find(text) != std::string::npos) return true;
      return false;
    });
  }

  void write_script(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path(name),
                                 std::filesystem::perms::owner_all |
                                     std::filesystem::perms::others_exec |
                                     std::filesystem::perms::others_read);
  }

  /// A role that prints the version of module `thing`, of which `version` is prepared for it.
  RoleSpec role_with_module(const std::string& version) const {
    RoleSpec role;
    role.name = "v" + version;
    role.command = {"-c", "import thing; print(thing.VERSION)"};
    role.isolation.key = "thing-" + version;
    role.isolation.prepare = {path("prepare"), version};
    role.isolation.interpreter = "bin/python";
    return role;
  }

  void write_prepare() const {
    write_script("prepare",
                 "echo run >> " + path("prepared") +
                     "\nmkdir -p $ORRERY_ENVIRONMENT/bin $ORRERY_ENVIRONMENT/lib\n"
                     "echo \"VERSION = $1\" > $ORRERY_ENVIRONMENT/lib/thing.py\n"
                     "printf '#!/bin/sh\\nPYTHONPATH=%s/lib exec python3 -S \"$@\"\\n' "
                     "$ORRERY_ENVIRONMENT > $ORRERY_ENVIRONMENT/bin/python\n"
                     "chmod +x $ORRERY_ENVIRONMENT/bin/python\n");
  }
};

TEST_F(RoleDemandsTest, TwoVersionsOfAModuleSideBySideEachPreparedOnce) {
  start_agent();
  write_prepare();
  JobSpec spec;
  spec.name = "default.two";
  spec.roles = {role_with_module("1"), role_with_module("2")};
  controller_.start_job(kJob, spec, 4, Incarnation{1});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited, 4));
  EXPECT_EQ(controller_.exit_code_of(kJob), 0);
  EXPECT_EQ(log("7-1-0"), "1\n");
  EXPECT_EQ(log("7-1-1"), "2\n");
  EXPECT_EQ(log("7-1-2"), "1\n");
  EXPECT_EQ(log("7-1-3"), "2\n");
  EXPECT_EQ(text_of_file(path("prepared")), "run\nrun\n");
  // Nor by a later life of the agent.
  agent_.kill(SIGKILL);
  start_agent();
  controller_.start_job(JobId{8}, spec, 1, Incarnation{1});
  ASSERT_TRUE(controller_.until_report(JobId{8}, WorkerFact::Exited));
  EXPECT_EQ(text_of_file(path("prepared")), "run\nrun\n");
}

TEST_F(RoleDemandsTest, AnAgentThatDiesWhileItPreparesTakesTheRunOver) {
  Gate go(path("go"));
  start_agent();
  write_script("prepare", "echo run >> " + path("prepared") + "\n" + go.wait() + "\n");
  RoleSpec role = role_of("echo $ORRERY_ENVIRONMENT; exit 0");
  role.isolation.key = "slow";
  role.isolation.prepare = {path("prepare")};
  start(role);
  line_of(path("prepared"));
  agent_.kill(SIGKILL);
  start_agent();
  start(role, Incarnation{2});
  go.open();
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log("7-2-0"), path("state/environments/slow") + "\n");
  EXPECT_EQ(text_of_file(path("prepared")), "run\n");
}

TEST_F(RoleDemandsTest, APreparationThatFailsIsToldWithItsLastWordsAndTriedAgain) {
  start_agent();
  write_script("prepare",
               "[ -e " + path("mended") + " ] && exit 0\necho no such package; exit 3\n");
  RoleSpec role = role_of("exit 0");
  role.isolation.key = "broken";
  role.isolation.prepare = {path("prepare")};
  start(role);
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  EXPECT_TRUE(is_told("its preparation ended with 3; its last words: no such package"));
  std::ofstream(path("mended")) << "mended";
  start(role, Incarnation{2});
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
}

TEST_F(RoleDemandsTest, APreparationHasADeadline) {
  start_agent();
  RoleSpec role = role_of("exit 0");
  role.isolation.key = "endless";
  role.isolation.prepare = {"/bin/sleep", "1000"};
  role.isolation.prepare_deadline = Duration::milliseconds(200);
  start(role);
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  EXPECT_TRUE(is_told("took longer than its deadline"));
}

TEST_F(RoleDemandsTest, AStopEndsAStartThatWaits) {
  start_agent();
  RoleSpec role = role_of("exit 0");
  role.isolation.key = "endless";
  role.isolation.prepare = {"/bin/sleep", "1000"};
  start(role);
  ASSERT_TRUE(
      eventually([&] { return std::filesystem::exists(path("state/preparing/endless/running")); }));
  WorkerStop stop;
  stop.rank = stop.birth_rank = Rank{0};
  stop.node = NodeId{0};
  stop.incarnation = Incarnation{1};
  controller_.order(StopWorkers{kJob, Generation{1}, Duration::seconds(1), {stop}});
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
}

TEST_F(RoleDemandsTest, AProgramOrAFolderThatIsNotThereIsToldAsFinalWithTheSystemsWords) {
  start_agent();
  std::ofstream(path("plain")) << "no program\n";

  struct Case {
    std::vector<std::string> command;
    std::string folder;
    std::int32_t code;
    std::string why;
  };

  const std::vector<Case> cases{
      {{"python9", "train.py"},
       "",
       kNotFound,
       "python9: its program cannot be run: No such file or directory"},
      {{path("plain")},
       "",
       kCannotRun,
       path("plain") + ": its program cannot be run: Permission denied"},
      {{"/bin/true"},
       "/no/such",
       kNotFound,
       "/no/such: its working directory cannot be entered: No such file or directory"},
  };
  std::uint32_t incarnation = 0;
  for (const Case& each : cases) {
    RoleSpec role = role_of("");
    role.command = each.command;
    role.working_directory = each.folder;
    start(role, Incarnation{++incarnation});
    EXPECT_TRUE(controller_.until([&](const StubController& c) {
      return !c.reports_.empty() && c.reports_.back().fact == WorkerFact::LaunchFailed &&
             c.reports_.back().incarnation == Incarnation{incarnation};
    })) << each.why;
    controller_.set([&](StubController& c) {
      ASSERT_FALSE(c.reports_.empty());
      EXPECT_EQ(c.reports_.back().exit_code, each.code);
      EXPECT_EQ(c.reports_.back().why, each.why);
    });
  }
}

TEST_F(RoleDemandsTest, APortThatSomethingElseListensAtIsTold) {
  start_agent();
  for (const int family : {AF_INET, AF_INET6}) {
    const Descriptor listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    socklen_t size = sizeof address;
    // Port 0: the system chooses one, which no other process has.
    if (!listener.is_open() ||
        bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
      continue;  // A machine without IPv6.
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    const int port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    EXPECT_EQ(first_busy_port(port, 1), port);
    EXPECT_EQ(first_busy_port(0, 1), 0);
    const JobId id{static_cast<std::uint32_t>(100 + family)};
    start_at(port, id, "exit 0");
    ASSERT_TRUE(controller_.until_report(id, WorkerFact::LaunchFailed));
    controller_.set([&](const StubController& c) {
      EXPECT_EQ(c.reports_.back().busy_port, port);
      EXPECT_THAT(c.reports_.back().why, HasSubstr("is in use by something else on this host"));
    });
  }
}

// What listens later than the agent looks is seen by its claim.
TEST_F(RoleDemandsTest, APortIsClaimedForAsLongAsItsWorkerLivesThoughNothingListens) {
  start_agent();
  std::int32_t port = 0;
  {
    const Descriptor taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  {
    const PortClaims another = claim_ports(port, 1);
    ASSERT_EQ(another.busy, 0);
    EXPECT_EQ(claim_ports(port, 1).busy, port);
    start_at(port, JobId{200}, "exit 0");
    ASSERT_TRUE(controller_.until_report(JobId{200}, WorkerFact::LaunchFailed));
    controller_.set([&](const StubController& c) { EXPECT_EQ(c.reports_.back().busy_port, port); });
  }
  const std::string go_on = path("go_on");
  ASSERT_EQ(mkfifo(go_on.c_str(), 0600), 0);
  start_at(port, JobId{201}, "ls -l /proc/self/fd | grep -c socket; read word < " + go_on);
  ASSERT_TRUE(controller_.until_report(JobId{201}, WorkerFact::Running));
  EXPECT_EQ(claim_ports(port, 1).busy, port);
  std::ofstream(go_on) << "on\n";
  ASSERT_TRUE(controller_.until_report(JobId{201}, WorkerFact::Exited));
  EXPECT_EQ(claim_ports(port, 1).busy, 0);
  EXPECT_EQ(log("201-1-0"), "0\n") << "the worker has no copy of the claim";
}

TEST_F(RoleDemandsTest, VolumesComeFromAllowedFoldersOnly) {
  std::filesystem::create_directories(path("data/set"));
  std::filesystem::create_directories(path("secret"));
  std::ofstream(path("data/set/word")) << "shared\n";
  std::filesystem::create_symlink(path("secret"), path("data/escape"));
  start_agent({"volumes=" + path("data")});
  RoleSpec role = role_of("cat in/word");
  role.volumes = {path("data/set") + ":in"};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "shared\n");
  role.volumes = {path("data/escape") + ":in", path("data") + "/../secret:in", "/etc:../../in"};
  start(role, Incarnation{2});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  EXPECT_TRUE(is_told("data/escape:in: its source is " + path("secret") +
                      ", which lies in no folder that this node allows: " + path("data")));
  EXPECT_TRUE(is_told("/../secret:in: its source is " + path("secret")));
  EXPECT_TRUE(is_told("volume /etc:../../in: needed source:target"));
}

TEST_F(RoleDemandsTest, AVolumeThatTheNodeForbidsIsRefusedForGoodAndOneThatIsNotThereIsNot) {
  std::filesystem::create_directories(path("data"));
  std::filesystem::create_directories(path("secret"));
  start_agent({"volumes=" + path("data")});
  const std::vector<std::pair<std::string, std::int32_t>> rows{
      {path("secret") + ":in", kCannotRun},          // The agent's settings do not allow it.
      {"data:../in", kCannotRun},                    // Never possible.
      {path("data") + "/later:in", 0},               // It may be made, or mounted.
      {path("data") + ":" + path("nowhere/in"), 0},  // Likewise; or only an agent of root's can.
  };
  RoleSpec role = role_of("exit 0");
  Incarnation incarnation{0};
  for (auto [volume, code] : rows) {
    SCOPED_TRACE(volume);
    if (volume.ends_with("nowhere/in") && !may_mount()) code = kCannotRun;
    role.volumes = {volume};
    std::ofstream(path("nowhere"));  // No folder can be made in a file.
    start(role, incarnation = incarnation.next());
    ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed, incarnation.value));
    controller_.set([&, wanted = code](const StubController& c) {
      EXPECT_EQ(c.reports_.back().exit_code, wanted) << c.reports_.back().why;
      EXPECT_THAT(c.reports_.back().why, HasSubstr("volume "));
    });
  }
  // An agent that comes back tells the same end.
  role.volumes = {path("secret") + ":in"};
  start(role, incarnation = incarnation.next());
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed, incarnation.value));
  agent_.kill(SIGKILL);
  controller_.set([](StubController& c) { c.reports_.clear(); });
  agent_.start();
  ASSERT_TRUE(controller_.until_welcomed());
  start(role, incarnation);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  controller_.set(
      [](const StubController& c) { EXPECT_EQ(c.reports_.back().exit_code, kCannotRun); });
}

TEST_F(RoleDemandsTest, AFolderOfTheJobIsSharedByItsWorkersAndGoesWithIt) {
  start_agent();
  RoleSpec role = role_of("echo from one >> box/word; cat box/word");
  // What has no target is mounted nowhere: earlier journals hold such texts.
  role.volumes = {"exchange:box", "unused:", "/no/such/folder:"};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "from one\n");
  start(role, Incarnation{2});
  ASSERT_TRUE(eventually([&] { return log("7-2-0") == "from one\nfrom one\n"; }));
  EXPECT_TRUE(std::filesystem::exists(path("state/jobs/7.volumes/exchange/word")));
  controller_.order(CleanJob{kJob, CleanPodPolicy::All});
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(path("state/jobs/7.volumes")); }));
}

TEST_F(RoleDemandsTest, AVolumeInsideAnotherIsRefused) {
  start_agent();
  RoleSpec role = role_of("exit 0");
  role.volumes = {"exchange:box", "other:box/inner/other", "fast:box/fast:memory"};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  EXPECT_TRUE(is_told("box/inner/other: its target lies in another volume"));
  EXPECT_FALSE(std::filesystem::exists(path("state/jobs/7.volumes/exchange/inner")));
}

TEST_F(RoleDemandsTest, AVolumeInMemoryIsTheWorkersOwn) {
  start_agent();
  RoleSpec role = role_of("echo word > fast/word && grep -c \" $PWD/fast tmpfs \" /proc/mounts");
  role.volumes = {"cache:fast:memory"};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  if (may_mount()) {
    EXPECT_EQ(log(), "1\n");
    const std::filesystem::path folder = agent_.folder_of("7-1-0");
    EXPECT_FALSE(std::filesystem::exists(folder / "work" / "fast" / "word"));
  } else {
    EXPECT_TRUE(is_told("is a folder on disk, and not in memory"));
  }
}

TEST_F(RoleDemandsTest, AVolumeAtAnAbsolutePathIsTheWorkersOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may mount";
  std::filesystem::create_directories(path("data"));
  std::filesystem::create_directories(path("target"));
  std::ofstream(path("data/word")) << "shared\n";
  start_agent({"volumes=" + path("data")});
  RoleSpec role = role_of("cat " + path("target/word"));
  role.volumes = {path("data") + ":" + path("target")};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "shared\n");
  EXPECT_FALSE(std::filesystem::exists(path("target/word")));
}

TEST_F(RoleDemandsTest, WorkersRunAsTheConfiguredUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  start_agent({"user=nobody"});
  RoleSpec role = role_of(
      "echo $(id -un) $USER; touch mine && echo wrote; cat " + path("state/node") +
      " > /dev/null 2>&1 || echo kept out; python3 -c 'import socket, os\n"
      "s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"ORRERY_SOCKET\"])\n"
      "import json; name = {\"worker\": \"7-1-0\", \"token\": os.environ[\"ORRERY_TOKEN\"]}\n"
      "s.sendall(json.dumps({\"hello\": name}).encode() + b\"\\n\")\n"
      "print(s.recv(13).decode())'");
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "nobody nobody\nwrote\nkept out\n{\"membership\"\n");
}

TEST_F(RoleDemandsTest, AUserWhoIsNotThereIsRefused) {
  agent_.options = {"user=nobody-of-this-name"};
  agent_.start();
  EXPECT_EQ(agent_.wait_end(), 2);
}

TEST_F(RoleDemandsTest, AnImageWithoutARuntimeIsAWarning) {
  start_agent();
  RoleSpec role = role_of("echo on the host");
  role.image = "example.org/train:1";
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "on the host\n");
  EXPECT_TRUE(
      is_told("role main asks for image example.org/train:1, but its node has no "
              "container_runtime"));
}

TEST_F(RoleDemandsTest, AnImageIsRunByTheConfiguredRuntime) {
  write_script("runtime", "for word in \"$@\"; do echo \"$word\"; done; echo $GREETING\n");
  std::filesystem::create_directories(path("data"));
  start_agent({"runtime=" + path("runtime"), "volumes=" + path("data")});
  RoleSpec role = role_of("echo in the container");
  role.image = "example.org/train:1";
  role.environment = {{"GREETING", "hello there"}};
  role.volumes = {path("data") + ":/data", "cache:/cache", "shm:/dev/shm:memory"};
  start(role);
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_THAT(log(),
              ::testing::StartsWith(
                  "run\n--tmpfs=/dev/shm\n--volume=" + path("state/jobs/7.volumes/cache") +
                  ":/cache\n--volume=" + path("data") + ":/data\n--rm\n"));
  EXPECT_THAT(log(), HasSubstr("\n--env=GREETING\n"));
  EXPECT_THAT(log(), HasSubstr("\n--env=RANK\n"));
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("--env=PATH\n")));
  EXPECT_THAT(log(),
              ::testing::EndsWith("\nexample.org/train:1\n/bin/sh\n-c\necho in the "
                                  "container\nhello there\n"));
}

TEST(WorkerUserTest, NumbersNeedNoEntry) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  const Result<WorkerUser> user = find_worker_user("4711:4712");
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->user, 4711u);
  EXPECT_EQ(user->group, 4712u);
  EXPECT_FALSE(find_worker_user("4711:x").has_value());
}

TEST(JobFiles, AreWrittenOnceAndFollowNoLinkOfAWorker) {
  const TemporaryFolder folder;
  const std::string conf = folder.file("conf");
  const std::vector<JobFileSpec> files{
      {"conf", "a.yaml", "rate: 1\n"}, {"conf", "b.yaml", ""}, {"unused", "c.yaml", "nobody"}};
  const auto volumes = find_volumes({"conf:/conf"}, {});
  ASSERT_TRUE(volumes);
  ASSERT_TRUE(write_job_files(files, *volumes, folder.path()));
  EXPECT_EQ(text_of_file(conf + "/a.yaml"), "rate: 1\n");
  EXPECT_TRUE(std::filesystem::exists(conf + "/b.yaml"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("unused"))) << "no role mounts it";
  std::ofstream(conf + "/a.yaml") << "changed";
  std::ofstream(folder.file("outside")) << "safe";
  std::filesystem::remove(conf + "/b.yaml");
  std::filesystem::create_symlink(folder.file("outside"), conf + "/.b.yaml.new");
  ASSERT_TRUE(write_job_files(files, *volumes, folder.path()));
  EXPECT_EQ(text_of_file(conf + "/a.yaml"), "changed") << "it is the job's";
  EXPECT_EQ(text_of_file(folder.file("outside")), "safe");
  EXPECT_FALSE(std::filesystem::is_symlink(conf + "/b.yaml"));
  std::filesystem::remove_all(conf);
  std::filesystem::create_symlink(folder.file("elsewhere"), conf);
  const auto refused = write_job_files(files, *volumes, folder.path());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.errors().front().text(), HasSubstr("cannot be written"));
}

}  // namespace role_demands_tests
}  // namespace orrery::runtime
