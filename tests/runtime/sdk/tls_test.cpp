// Calls under TLS: the certificate must be the directory's.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/io.hpp"
#include "tests/runtime/link/certificates.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

struct Tls : ::testing::Test {
  /// Certificate and key in one file.
  std::string pem(const std::string& name) {
    const runtime::TlsFiles files = authority.issue(name, "worker", "127.0.0.1");
    const std::string path = folder.file(name + ".pem");
    std::ofstream(path) << std::ifstream(files.certificate).rdbuf()
                        << std::ifstream(files.key).rdbuf();
    return path;
  }

  TemporaryFolder folder;
  runtime::TestAuthority authority{"authority"};
  FakeCluster cluster;
};

TEST_F(Tls, AWorkerWithACertificateIsCalledUnderIt) {
  const std::string file = pem("w0");
  cluster.start(SDK_WORKER, {.certificate = file});
  const std::string name = cluster.name_of("trainer", 0);
  EXPECT_EQ(cluster.peer(name, "").certificate, certificate_digest(file));
  Driver driver = cluster.driver();
  const RemoteWorker trainer = driver.worker("trainer", 0);
  EXPECT_EQ(trainer.call<int>("add", 1, 2), 3);
  Buffer buffer;
  buffer.bytes.assign(3'000'000, 1);
  EXPECT_EQ(trainer.call<std::uint64_t>("sum", buffer), 3'000'000U);
  EXPECT_EQ(trainer.call<Buffer>("bytes", 3'000'000).bytes.size(), 3'000'000U);
  EXPECT_THROW(trainer.call("die"), WorkerLost);
}

// It was asked again and again until the deadline of the call.
TEST_F(Tls, AControllerThatCanNeverBeAskedEndsCallsAtOnce) {
  cluster.start(SDK_WORKER);
  const auto controller = Io::instance().listen(
      "127.0.0.1", pem("controller"), Milliseconds(20'000), [](const std::shared_ptr<Link>& link) {
        link->close();
      });
  const std::string port = std::to_string(controller->port());
  const runtime::TestAuthority other("other");
  const auto call = [&](const std::string& url, const std::string& ca) {
    DriverOptions options = cluster.driver_options();
    options.url = url;
    options.ca = ca;
    return Driver(options)
        .worker("trainer", 0)
        .within(std::chrono::hours(1))
        .call<int>("add", 1, 2);
  };
  EXPECT_THROW(call("https://127.0.0.1:" + port, other.ca_file()), NotAuthorised);
  EXPECT_THROW(call("https://127.0.0.1:" + port, folder.file("none.pem")), BadArguments);
  EXPECT_THROW(call("http://127.0.0.1:" + port, ""), BadArguments);
  const std::string https = "https" + cluster.url().substr(4);
  EXPECT_THROW(call(https, authority.ca_file()), BadArguments);
  EXPECT_EQ(call(https + "," + cluster.url(), authority.ca_file()), 3)
      << "the other one can be asked";
}

TEST_F(Tls, AnotherCertificateIsNotBelieved) {
  cluster.start(SDK_WORKER, {.certificate = pem("w0")});
  const std::string name = cluster.name_of("trainer", 0);
  Peer other = cluster.peer(name, "");
  other.certificate = *certificate_digest(pem("w1"));
  cluster.change(name, other);
  EXPECT_THROW(cluster.driver().worker("trainer", 0).call("add", 1, 2), NotAuthorised);
}

TEST_F(Tls, NeitherSideSpeaksWithoutItWhereTheOtherDoes) {
  cluster.start(SDK_WORKER, {.certificate = pem("w0")});
  cluster.start(SDK_WORKER, {.role = "actor"});
  Peer plain = cluster.peer(cluster.name_of("trainer", 0), "");
  const std::string digest = std::exchange(plain.certificate, "");
  cluster.change(plain.worker, plain);
  const auto call = [&](const std::string& role) {
    // Another driver each time, since each keeps what the directory said.
    cluster.driver().worker(role, 0).within(std::chrono::seconds(20)).call("add", 1, 2);
  };
  EXPECT_THROW(call("trainer"), CallError);
  Peer encrypted = cluster.peer(cluster.name_of("actor", 0), "");
  encrypted.certificate = digest;
  cluster.change(encrypted.worker, encrypted);
  EXPECT_THROW(call("actor"), CallError);
}

}  // namespace
}  // namespace orrery::sdk
