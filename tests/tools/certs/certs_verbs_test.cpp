// The verbs of `certs` as they are typed, in a folder of the test's own.
#include "tools/certs/certs_verbs.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/security/authority.hpp"
#include "runtime/security/secret_files.hpp"
#include "runtime/security/tokens.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/certs/certs_specs.hpp"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct Outcome {
  ExitCode code = ExitCode::Met;
  std::string out;
  std::string err;
};

class CertsVerbs : public ::testing::Test {
 protected:
  using Run = ExitCode (*)(const Arguments& arguments, Console& console);

  static Outcome run(const VerbSpec& spec, Run verb, const std::vector<std::string>& words) {
    const auto arguments = parse_arguments(spec, words);
    EXPECT_TRUE(arguments) << (arguments ? "" : arguments.errors()[0].text());
    if (!arguments) return {ExitCode::BadInput, "", ""};
    Console console{ConsoleTraits{}};
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const ExitCode code = verb(*arguments, console);
    std::string out = ::testing::internal::GetCapturedStdout();
    return {code, std::move(out), ::testing::internal::GetCapturedStderr()};
  }

  Outcome init(std::vector<std::string> words) const {
    words.push_back(certs());
    return run(certs_init_spec(), run_certs_init, words);
  }

  std::string certs() const { return folder_.file("certs"); }

  std::string content(const std::string& name) const {
    return runtime::read_whole_file(certs() + "/" + name).value();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(certs()))
      found.push_back(entry.path().filename());
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(CertsVerbs, InitMakesAnAuthorityAndAController) {
  const Outcome made = init({"--host", "10.0.0.1"});
  EXPECT_EQ(made.code, ExitCode::Met) << made.err;
  EXPECT_THAT(made.out, HasSubstr("reached at 10.0.0.1, localhost, 127.0.0.1, ::1, until 20"));
  EXPECT_THAT(names(),
              UnorderedElementsAre("ca.pem", "ca.key", "controller.pem", "controller.key"));
  for (const char* key : {"ca.key", "controller.key"}) {
    struct stat status {};

    ASSERT_EQ(::stat((certs() + "/" + key).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  EXPECT_EQ(runtime::read_certificate(content("controller.pem"))->role, "controller");
}

TEST_F(CertsVerbs, InitOverwritesNothingUnlessItIsForced) {
  ASSERT_EQ(init({}).code, ExitCode::Met);
  const std::string first = content("ca.pem");
  const Outcome again = init({});
  EXPECT_EQ(again.code, ExitCode::BadInput);
  EXPECT_THAT(again.err, HasSubstr("ca.key: is there already, nothing is overwritten"));
  EXPECT_EQ(content("ca.pem"), first);
  EXPECT_EQ(init({"--force"}).code, ExitCode::Met);
  EXPECT_NE(content("ca.pem"), first);
}

TEST_F(CertsVerbs, RefusedWordsMakeNothing) {
  EXPECT_EQ(init({"--days", "0"}).code, ExitCode::BadInput);
  const Outcome refused = init({"--host", "a b", "--host", "10.0.0.1:5"});
  EXPECT_EQ(refused.code, ExitCode::BadInput);
  EXPECT_THAT(refused.err, HasSubstr("host 'a b'"));
  EXPECT_THAT(refused.err, HasSubstr("host '10.0.0.1:5'"));
  EXPECT_FALSE(std::filesystem::exists(certs()));
}

TEST_F(CertsVerbs, AgentsUsersAndAdminsGetTheirs) {
  ASSERT_EQ(init({}).code, ExitCode::Met);
  const Outcome agents =
      run(certs_agent_spec(), run_certs_agent, {"gpu-[1-3]", "gpu-2", "--dir", certs()});
  EXPECT_EQ(agents.code, ExitCode::Met) << agents.err;
  EXPECT_EQ(run(certs_user_spec(), run_certs_user, {"ann", "--dir", certs()}).code, ExitCode::Met);
  EXPECT_EQ(run(certs_admin_spec(), run_certs_admin, {"root", "--dir", certs()}).code,
            ExitCode::Met);
  const auto holder = [&](const std::string& file) {
    const auto facts = runtime::read_certificate(content(file));
    return facts->role + " " + facts->name;
  };
  EXPECT_EQ(holder("agent-gpu-1.pem"), "agent gpu-1");
  EXPECT_EQ(holder("agent-gpu-3.pem"), "agent gpu-3");
  EXPECT_EQ(holder("user-ann.pem"), "user ann");
  EXPECT_EQ(holder("admin-root.pem"), "admin root");
  const Outcome shown =
      run(certs_show_spec(), run_certs_show, {certs() + "/user-ann.pem", certs() + "/ca.key"});
  EXPECT_EQ(shown.code, ExitCode::BadInput);
  EXPECT_THAT(shown.out, HasSubstr("user-ann.pem: user ann, until 20"));
  EXPECT_THAT(shown.err, HasSubstr("ca.key: certificate: is none"));
  const Outcome document =
      run(certs_show_spec(), run_certs_show, {certs() + "/user-ann.pem", "--json"});
  EXPECT_EQ(document.code, ExitCode::Met);
  EXPECT_THAT(document.out, HasSubstr("\"role\": \"user\""));
  EXPECT_THAT(document.out, HasSubstr("\"name\": \"ann\""));
  EXPECT_THAT(document.out, HasSubstr("\"expires_utc\": \"20"));
  EXPECT_THAT(document.out, HasSubstr("\"ended\": false"));
}

TEST_F(CertsVerbs, SeveralAtOnceAreMadeAllOrNone) {
  ASSERT_EQ(init({}).code, ExitCode::Met);
  ASSERT_EQ(run(certs_agent_spec(), run_certs_agent, {"b", "--dir", certs()}).code, ExitCode::Met);
  EXPECT_EQ(run(certs_agent_spec(), run_certs_agent, {"a", "b", "--dir", certs()}).code,
            ExitCode::BadInput);
  EXPECT_EQ(run(certs_agent_spec(), run_certs_agent, {"a", "B", "c[", "--dir", certs()}).code,
            ExitCode::BadInput);
  EXPECT_FALSE(std::filesystem::exists(certs() + "/agent-a.pem"));
}

TEST_F(CertsVerbs, WithoutAnAuthorityNothingIsSigned) {
  const Outcome refused = run(certs_agent_spec(), run_certs_agent, {"a", "--dir", certs()});
  EXPECT_EQ(refused.code, ExitCode::BadInput);
  EXPECT_THAT(refused.err, HasSubstr("ca.key: cannot be read"));
}

TEST_F(CertsVerbs, MoreControllersHaveNamesAndHosts) {
  ASSERT_EQ(init({}).code, ExitCode::Met);
  const Outcome made = run(
      certs_controller_spec(), run_certs_controller, {"b", "--host", "10.0.0.2", "--dir", certs()});
  EXPECT_EQ(made.code, ExitCode::Met) << made.err;
  EXPECT_EQ(runtime::read_certificate(content("controller-b.pem"))->name, "b");
}

TEST_F(CertsVerbs, TokensAreShownOnceAndTakenBack) {
  const std::string file = folder_.file("tokens");
  const auto token = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--file", file});
    return run(certs_token_spec(), run_certs_token, words);
  };
  const Outcome made = token({"--role", "user", "--name", "ann"});
  EXPECT_EQ(made.code, ExitCode::Met) << made.err;
  ASSERT_THAT(made.out, ::testing::EndsWith("\n"));
  const auto tokens = runtime::TokenFile::open(file);
  ASSERT_TRUE(tokens);
  const std::string word = made.out.substr(0, made.out.size() - 1);
  EXPECT_EQ((*tokens)->identify(word), (runtime::Holder{runtime::Role::User, "ann"}));
  EXPECT_EQ(token({"--role", "user", "--name", "ann", "--revoke"}).code, ExitCode::Met);
  EXPECT_FALSE((*tokens)->identify(word));
  EXPECT_EQ(token({"--role", "user", "--name", "ann", "--revoke"}).code, ExitCode::Unmet);
  const Outcome refused = token({});
  EXPECT_EQ(refused.code, ExitCode::BadInput);
  EXPECT_THAT(refused.err, HasSubstr("--role"));
  EXPECT_THAT(refused.err, HasSubstr("--name"));
}

}  // namespace
}  // namespace orrery::cli
