// What the stores take: updates a second and the time until one is durable.
//
//   bench_store [--seconds S] [--folder DIR] [--etcd HOST:PORT,...]
//
// An update is one record of 300 bytes. The file lies in DIR, by default where temporary files do;
// members of etcd are measured where they are named (tools/etcd_members starts some). Each line
// has the ratio to the plain SQLite store that commits every update, in the same run.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/etcd/etcd_store.hpp"
#include "runtime/store/background_store.hpp"
#include "runtime/store/sqlite_store.hpp"

namespace orrery::bench {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::BackgroundStore;

constexpr std::size_t kRecordBytes = 300;
constexpr Epoch kWriter{1};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Records that follow each other, all of the same size.
class Updates {
 public:
  Status append(StateStore& store, std::size_t count) {
    records_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Digester digester(chain_);
      digester.update(std::span<const std::byte>(bytes_));
      chain_ = digester.finish();
      records_.push_back({last_ = last_.next(), chain_, bytes_});
    }
    return store.append(kWriter, records_);
  }

  Sequence last() const { return last_; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kRecordBytes, std::byte{7});
  std::vector<StoredRecord> records_;
  Sequence last_;
  Digest chain_;
};

struct Measured {
  double updates_s = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

double at(const std::vector<double>& sorted, double share) {
  return sorted.empty()
             ? 0
             : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// Appends `group` updates and makes them durable, again and again.
Result<Measured> commit_groups(StateStore& store, std::size_t group, double seconds) {
  Updates updates;
  std::vector<double> took;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < seconds) {
    const Clock::time_point one = Clock::now();
    if (Status appended = updates.append(store, group); !appended) return appended.errors();
    if (Status synced = store.sync(); !synced) return synced.errors();
    took.push_back(seconds_since(one) * 1e3);
  }
  const double all = seconds_since(begin);
  std::sort(took.begin(), took.end());
  return Measured{static_cast<double>(updates.last().value) / all, at(took, 0.5), at(took, 0.99)};
}

/// One thread appends updates one by one as fast as it may, while they are committed behind it.
Result<Measured> stream(StateStore& inner, double seconds) {
  runtime::BackgroundOptions options;
  options.queue_bytes_max = std::size_t{1} << 20;  // So that what is measured is the committing.
  BackgroundStore store(
      inner, [] {}, options);
  Updates updates;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < seconds)
    for (int i = 0; i < 100; ++i)
      if (Status appended = updates.append(store, 1); !appended) return appended.errors();
  if (Status flushed = store.flush(); !flushed) return flushed.errors();
  return Measured{static_cast<double>(updates.last().value) / seconds_since(begin), 0, 0};
}

/// One update at a time, each waited for: what an answer to a client waits.
Result<Measured> answers(StateStore& inner, double seconds) {
  std::mutex mutex;
  std::condition_variable woken;
  BackgroundStore store(inner, [&] {
    const std::lock_guard lock(mutex);
    woken.notify_one();
  });
  Updates updates;
  std::vector<double> took;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < seconds) {
    const Clock::time_point one = Clock::now();
    if (Status appended = updates.append(store, 1); !appended) return appended.errors();
    Status synced = store.sync();
    std::unique_lock lock(mutex);
    woken.wait(lock, [&] {
      synced = store.sync();
      return !synced || store.durable() == updates.last();
    });
    if (!synced) return synced.errors();
    took.push_back(seconds_since(one) * 1e3);
  }
  const double all = seconds_since(begin);
  std::sort(took.begin(), took.end());
  return Measured{static_cast<double>(updates.last().value) / all, at(took, 0.5), at(took, 0.99)};
}

struct Options {
  double seconds = 2;
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::vector<std::string> etcd;
};

class Bench {
 public:
  explicit Bench(Options options) : options_(std::move(options)) {}

  int run() {
    std::printf("%-46s %12s %8s %10s %10s\n", "", "updates/s", "ratio", "p50 ms", "p99 ms");
    for (const std::size_t group : {1, 10, 100, 1000})
      on_sqlite("SQLite, groups of " + std::to_string(group),
                [&](StateStore& store) { return commit_groups(store, group, options_.seconds); });
    on_sqlite("SQLite in the background, one by one",
              [&](StateStore& store) { return stream(store, options_.seconds); });
    on_sqlite("SQLite in the background, each waited for",
              [&](StateStore& store) { return answers(store, options_.seconds); });
    if (options_.etcd.empty()) {
      std::printf("etcd: no members were named (--etcd), left out\n");
      return failed_;
    }
    for (const std::size_t group : {1, 100, 1000})
      on_etcd("etcd, groups of " + std::to_string(group),
              [&](StateStore& store) { return commit_groups(store, group, options_.seconds); });
    on_etcd("etcd in the background, one by one",
            [&](StateStore& store) { return stream(store, options_.seconds); });
    on_etcd("etcd in the background, each waited for",
            [&](StateStore& store) { return answers(store, options_.seconds); });
    return failed_;
  }

 private:
  using Measure = std::function<Result<Measured>(StateStore&)>;

  void print(const std::string& name, const Result<Measured>& measured) {
    if (!measured) {
      std::fprintf(
          stderr, "bench_store: %s: %s\n", name.c_str(), measured.errors()[0].text().c_str());
      failed_ = 1;
      return;
    }
    const Measured& m = *measured;
    if (plain_ == 0) plain_ = m.updates_s;
    std::printf("%-46s %12.0f %7.1fx", name.c_str(), m.updates_s, m.updates_s / plain_);
    if (m.p50_ms > 0) std::printf(" %10.2f %10.2f", m.p50_ms, m.p99_ms);
    std::printf("\n");
  }

  void on_sqlite(const std::string& name, const Measure& measure) {
    const std::string path =
        (options_.folder / ("orrery-bench-store-" + std::to_string(getpid()) + ".db")).string();
    {
      auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::Append);
      print(name, store ? measure(**store) : Result<Measured>(store.errors()));
    }
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  }

  void on_etcd(const std::string& name, const Measure& measure) {
    runtime::EtcdSettings settings;
    settings.endpoints = options_.etcd;
    settings.patience = std::chrono::seconds(30);
    const auto client = runtime::EtcdClient::make(settings);
    if (!client) return print(name, client.errors());
    runtime::EtcdStoreOptions options;
    options.prefix = "/orrery-bench-" + std::to_string(getpid());
    const auto everything = runtime::EtcdRange::prefix(options.prefix + "/");
    // As the winner of an election, without one.
    const auto led = (*client)->put({options.prefix + "/leader", "bench"});
    if (!led) return print(name, led.errors());
    {
      auto store = runtime::EtcdStore::open(**client, runtime::Leadership{led->revision}, options);
      print(name, store ? measure(**store) : Result<Measured>(store.errors()));
    }
    const auto erased = (*client)->commit({{}, {runtime::EtcdDelete{everything}}, {}});
    if (erased) static_cast<void>((*client)->compact(erased->revision));
  }

  Options options_;
  double plain_ = 0;
  int failed_ = 0;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--seconds" && std::atof(value.c_str()) > 0) {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--folder" && std::filesystem::is_directory(value)) {
      options.folder = value;
    } else if (name == "--etcd" && !value.empty()) {
      options.etcd = split(value);
    } else {
      std::fprintf(stderr,
                   "bench_store: '%s %s' found, --seconds S, --folder DIR or --etcd "
                   "HOST:PORT,... needed; write for example bench_store --seconds 2\n",
                   name.c_str(),
                   value.c_str());
      return 2;
    }
  }
  return Bench(std::move(options)).run();
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) { return orrery::bench::run(argc, argv); }
