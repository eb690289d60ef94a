// main() of a test program each of whose cases needs a process of its own. The process is a fork:
// what starting the program costs, libraries and a list of cases from files, is paid once and not
// by each.
//
//   test_X [--part I/N] [OPTION OF GOOGLETEST...]    the cases I, I + N, ... of N parts, 0 <= I < N
//   test_X --gtest_filter=PATTERN                    those cases in this process, as ever
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<std::string> cases() {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
  return names;
}

/// Whether the case, run in a fork, has passed.
bool passes(const std::string& name) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    GTEST_FLAG_SET(filter, name);
    const int code = RUN_ALL_TESTS();
    std::fflush(nullptr);
    _exit(code);  // To give memory back, page by page of what it shares, takes longer than most
                  // cases.
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("a case cannot be run in a process of its own");
    return false;
  }
  if (status == 0) return true;
  if (WIFSIGNALED(status))
    std::printf("[  FAILED  ] %s was ended by signal %d\n", name.c_str(), WTERMSIG(status));
  else
    std::printf("[  FAILED  ] %s, again with --gtest_filter='%s'\n", name.c_str(), name.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  // A death test starts the program again, with all its options, for the one case.
  bool is_for_a_death_test = false;
  for (int i = 1; i < argc; ++i)
    is_for_a_death_test = is_for_a_death_test ||
                          std::string_view(argv[i]).starts_with("--gtest_internal_run_death_test");
  testing::InitGoogleMock(&argc, argv);
  if (argc == 1 || is_for_a_death_test) return RUN_ALL_TESTS();
  int part = 0;
  int parts = 0;
  if (argc != 3 || std::string_view(argv[1]) != "--part" ||
      std::sscanf(argv[2], "%d/%d", &part, &parts) != 2 || part < 0 || part >= parts) {
    std::fprintf(stderr, "%s: needed is --part I/N with 0 <= I < N, or nothing\n", argv[0]);
    return 2;
  }
  const std::vector<std::string> names = cases();
  int ran = 0;
  int failed = 0;
  for (auto i = static_cast<std::size_t>(part); i < names.size();
       i += static_cast<std::size_t>(parts)) {
    ++ran;
    failed += passes(names[i]) ? 0 : 1;
  }
  std::printf("%d cases, each in a process of its own; %d failed\n", ran, failed);
  return ran > 0 && failed == 0 ? 0 : 1;
}
