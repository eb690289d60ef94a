// A worker of tests: quicker to start than an interpreter, and nothing starts beside it.
//
//   witness FILE         notes the time at which it lives, on the clock of leases, again and again,
//                        whatever it is told
//   speak                tells its agent the lines of SAY, with its token for TOKEN, and prints
//                        every line that it hears. With GO, the path of a gate, it waits there
//                        first, says its lines, and ends with CODE; where WAIT is "after" it says
//                        OVER too, prints what it hears until an answer to that comes, and waits
//                        then instead
//   beat FOLDER          holds the lock of its role and rank, and writes to FOLDER/log when it
//                        starts, five times a second, and when it is asked to end
//   steps FOLDER COUNT   holds the lock of its job and rank, writes its start and its end, and does
//                        as many steps of a second as are still to be done, each a byte; a child of
//                        its holds the lock too
//   pause                does nothing until a signal ends it
//
// A lock that is taken means that the same rank runs twice; it says so and ends.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

constexpr int kNotedEachMs = 5;
constexpr int kBeatMs = 200;
constexpr int kStepMs = 1000;

std::string variable(const char* name) {
  const char* const found = std::getenv(name);
  return found == nullptr ? std::string() : std::string(found);
}

int witness(const char* path) {
  std::signal(SIGTERM, SIG_IGN);
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return 2;
  while (true) {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    char text[21];
    std::snprintf(text,
                  sizeof text,
                  "%020lld",
                  static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
    if (pwrite(file, text, 20, 0) != 20) return 3;
    poll(nullptr, 0, kNotedEachMs);
  }
}

bool say(int agent, std::string text) {
  const std::size_t at = text.find("TOKEN");
  if (at != std::string::npos) text.replace(at, 5, variable("ORRERY_TOKEN"));
  return send(agent, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// Prints what it hears, until that holds `last` or there is no more.
void listen_until(int agent, const std::string& last) {
  std::string heard;
  char block[4096];
  while (last.empty() || heard.find(last) == std::string::npos) {
    const ssize_t count = read(agent, block, sizeof block);
    if (count <= 0) return;
    heard.append(block, static_cast<std::size_t>(count));
    static_cast<void>(!write(1, block, static_cast<std::size_t>(count)));
  }
}

/// Until the test lets it through.
void wait_at(const std::string& gate) {
  const int file = open(gate.c_str(), O_RDONLY | O_CLOEXEC);
  char through = 0;
  static_cast<void>(!read(file, &through, 1));
}

int speak() {
  const std::string gate = variable("GO");
  const bool waits_after = variable("WAIT") == "after";
  if (!gate.empty() && !waits_after) wait_at(gate);
  const int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  variable("ORRERY_SOCKET").copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(agent, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 100;
  std::string lines = variable("SAY");
  if (!lines.ends_with('\n')) lines += '\n';
  if (!say(agent, std::move(lines))) return 101;
  if (gate.empty()) {
    listen_until(agent, "");
    return 0;
  }
  if (waits_after) {
    if (!say(agent, variable("OVER"))) return 102;
    listen_until(agent, "no role over");
    wait_at(gate);
  }
  return std::atoi(variable("CODE").c_str());
}

/// One line at the end of a file, which others may write to as well.
void append(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::exit(4);
  close(file);
}

/// Whether nobody else held it; it is held until this process ends.
bool take_lock(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
}

volatile std::sig_atomic_t asked_to_end = 0;

void note_request(int) { asked_to_end = 1; }

int beat(const std::string& folder) {
  const std::string rank = variable("ORRERY_RANK");
  const auto note = [&](const char* word) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    char text[96];
    std::snprintf(text,
                  sizeof text,
                  "%s %s %d %lld.%09ld\n",
                  word,
                  rank.c_str(),
                  static_cast<int>(getpid()),
                  static_cast<long long>(now.tv_sec),
                  now.tv_nsec);
    append(folder + "/log", text);
  };
  if (!take_lock(folder + "/" + variable("ORRERY_ROLE") + "-" + rank + ".lock")) {
    note("twice");
    return 9;
  }
  // Heard only while it waits.
  sigset_t term{};
  sigset_t none{};
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  std::signal(SIGTERM, note_request);
  note("start");
  while (asked_to_end == 0) {
    note("beat");
    const timespec pause{0, kBeatMs * 1'000'000L};
    ppoll(nullptr, 0, &pause, &none);
  }
  note("end");
  return 0;
}

int do_steps(const std::string& folder, long count) {
  const std::string me = folder + "/" + variable("ORRERY_JOB") + "." + variable("ORRERY_RANK");
  char place[4096];
  if (getcwd(place, sizeof place) == nullptr) return 5;
  const std::string who =
      " " + std::to_string(getpid()) + " " + std::to_string(getppid()) + " " + place + "\n";
  if (!take_lock(me + ".lock")) {
    append(me + ".log", "twice" + who);
    return 1;
  }
  append(me + ".log", "start" + who);
  // The lock is held by a child as well: a rank whose processes are not all gone has not ended.
  if (fork() == 0)
    while (true) pause();

  // What an earlier start has done counts.
  struct stat done {};

  if (stat((me + ".work").c_str(), &done) != 0) return 6;
  for (long step = done.st_size; step < count; ++step) {
    poll(nullptr, 0, kStepMs);
    append(me + ".work", ".");
  }
  append(me + ".log", "end" + who);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string verb = count > 1 ? words[1] : "";
  if (verb == "witness" && count == 3) return witness(words[2]);
  if (verb == "speak" && count == 2) return speak();
  if (verb == "pause" && count == 2)
    while (true) pause();
  if (verb == "beat" && count == 3) return beat(words[2]);
  if (verb == "steps" && count == 4) return do_steps(words[2], std::atol(words[3]));
  return 2;
}
