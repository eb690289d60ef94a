// SimGrid platform files of Batsim and ElastiSim.
#include "sim/simgrid/platform_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/simgrid/platform.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;

std::string trace(const std::string& path) {
  return std::string(ORRERY_SOURCE_ROOT) + "/../shared/traces/" + path;
}

class PlatformFileTest : public testing::Test {
 protected:
  void load(const std::string& file) {
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "the traces are not here";
    scenarios::NetworkSpec network;
    network.topology = scenarios::NetworkTopology::Platform;
    network.platform = file;
    Result<Platform> made = Platform::make(engine_, network, 0);
    ASSERT_TRUE(made) << made.errors()[0].text();
    platform_ = std::make_unique<Platform>(std::move(made).value());
  }

  std::string name(std::uint32_t node) { return platform_->host(NodeId(node))->get_name(); }

  std::vector<std::string> way(NodeId from, NodeId to) {
    Platform::Route route;
    platform_->find_route(from, to, route);
    std::vector<std::string> out;
    for (const std::uint32_t link : route.links)
      out.push_back(platform_->links()[link]->get_name());
    return out;
  }

  SimGridEngine engine_;
  std::unique_ptr<Platform> platform_;
};

TEST_F(PlatformFileTest, BatsimSmallPlatform) {
  load(trace("batsim/platforms/small_platform.xml"));
  if (!platform_) return;
  ASSERT_EQ(platform_->node_count(), 4u) << "master_host is no node";
  EXPECT_EQ(name(0), "Jupiter");
  EXPECT_EQ(name(3), "Bourassa");
  EXPECT_FALSE(platform_->has_storage());
  EXPECT_DOUBLE_EQ(platform_->node_flops(NodeId(0)), 76.296e6);
  EXPECT_GT(way(NodeId(0), NodeId(1)).size(), 1u);
}

TEST_F(PlatformFileTest, BatsimCluster512) {
  load(trace("batsim/platforms/cluster512.xml"));
  if (!platform_) return;
  ASSERT_EQ(platform_->node_count(), 512u) << "the host of role master is no node";
  EXPECT_EQ(name(0), "a0");
  EXPECT_EQ(name(511), "a511");
  EXPECT_EQ(way(NodeId(3), NodeId(400)).size(), 3u) << "up, backbone, down";
}

TEST_F(PlatformFileTest, BatsimWithoutNetwork) {
  load(trace("batsim/platforms/energy_platform_homogeneous_no_net_128.xml"));
  if (!platform_) return;
  EXPECT_EQ(platform_->node_count(), 128u);
  EXPECT_EQ(name(0), "host0");
  EXPECT_TRUE(way(NodeId(0), NodeId(127)).empty());
  EXPECT_DOUBLE_EQ(platform_->node_flops(NodeId(5)), 100e6);
}

TEST_F(PlatformFileTest, ElastiSimCrossbar) {
  load(trace("elastisim/crossbar.xml"));
  if (!platform_) return;
  EXPECT_EQ(platform_->node_count(), 128u) << "neither the batch system nor the file system";
  EXPECT_TRUE(platform_->has_storage());
  EXPECT_EQ(platform_->host(NodeId::none())->get_name(), "PFS");
  EXPECT_THAT(way(NodeId(0), NodeId::none()), testing::Contains("PFS_write"));
  EXPECT_THAT(way(NodeId::none(), NodeId(0)), testing::Contains("PFS_read"));
}

TEST_F(PlatformFileTest, AFileThatIsNotThereIsBadInput) {
  scenarios::NetworkSpec network;
  network.topology = scenarios::NetworkTopology::Platform;
  network.platform = "no/such/file.xml";
  const Result<Platform> made = Platform::make(engine_, network, 0);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), HasSubstr("cannot be opened"));
}

TEST_F(PlatformFileTest, AFolderIsBadInput) {
  scenarios::NetworkSpec network;
  network.topology = scenarios::NetworkTopology::Platform;
  network.platform = testing::TempDir();
  const Result<Platform> made = Platform::make(engine_, network, 0);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), HasSubstr("is a folder"));
}

TEST_F(PlatformFileTest, BrokenXmlIsBadInput) {
  const std::string file = testing::TempDir() + "broken_platform.xml";
  std::ofstream(file) << "<?xml version='1.0'?>\n"
                         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                         "<platform version=\"4.1\"><zone id=\"a\" routing=\"Full\"><host/>";
  scenarios::NetworkSpec network;
  network.topology = scenarios::NetworkTopology::Platform;
  network.platform = file;
  const Result<Platform> made = Platform::make(engine_, network, 0);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), HasSubstr("SimGrid refuses it"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery::sim
