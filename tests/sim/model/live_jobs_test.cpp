#include "sim/model/live_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace orrery::sim {
namespace {

using testing::ElementsAre;

ModelJob named(const std::string& name) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = name;
  spec->roles.emplace_back();
  RoleSpec master;
  master.master_of = RoleIndex{0};
  spec->roles.push_back(std::move(master));
  ModelJob job;
  job.spec = std::move(spec);
  job.submit = Instant{} + Duration::seconds(7);
  job.scripts.edit().resize(2);
  return job;
}

TEST(LiveJobs, AnAcceptedJobLivesFromTheFirstLookAtIt) {
  LiveJobs jobs;
  EXPECT_EQ(jobs.find(JobId{0}), nullptr);
  jobs.insert(JobId{2}, named("a"));
  EXPECT_EQ(jobs.find(JobId{1}), nullptr) << "refused, or of another cluster";
  LiveJob* a = jobs.find(JobId{2});
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->id, JobId{2});
  EXPECT_EQ(a->job.spec->name, "a");
  EXPECT_EQ(a->masters, 1u);
  EXPECT_THAT(a->script_lives, ElementsAre(0, 0));
  a->done = 5;
  jobs.insert(JobId{3}, named("b"));
  EXPECT_EQ(jobs.find(JobId{3})->job.spec->name, "b");
  EXPECT_EQ(jobs.find(JobId{2}), a) << "a job stays where it is";
  EXPECT_EQ(a->done, 5);
}

TEST(LiveJobs, PlacesOfJobsThatAreOverServeLaterOnes) {
  LiveJobs jobs;
  for (std::uint32_t id = 0; id < 3; ++id) jobs.insert(JobId{id}, named(std::to_string(id)));
  jobs.find(JobId{1});
  jobs.erase(JobId{1});
  EXPECT_EQ(jobs.find(JobId{1}), nullptr);
  EXPECT_EQ(jobs.erased(), 1u);
  for (std::uint32_t id = 3; id < 6; ++id) jobs.insert(JobId{id}, named(std::to_string(id)));
  for (const std::uint32_t id : {5, 0, 3, 2, 4})
    EXPECT_EQ(jobs.find(JobId{id})->job.spec->name, std::to_string(id));
}

TEST(LiveJobs, PlacedJobsAreListedByIdAndOnce) {
  LiveJobs jobs;
  for (std::uint32_t id = 0; id < 3; ++id) jobs.insert(JobId{id}, named("a"));
  EXPECT_FALSE(jobs.any_placed());
  for (const std::uint32_t id : {2, 0, 2}) jobs.place(*jobs.find(JobId{id}));
  EXPECT_THAT(jobs.placed(), ElementsAre(JobId{0}, JobId{2}));
  jobs.unplace(*jobs.find(JobId{2}));
  jobs.unplace(*jobs.find(JobId{2}));
  EXPECT_THAT(jobs.placed(), ElementsAre(JobId{0}));
  EXPECT_TRUE(jobs.any_placed());
  jobs.erase(JobId{0});
  EXPECT_FALSE(jobs.any_placed());
  EXPECT_TRUE(jobs.placed().empty());
}

// Also after more starts than the list of them is let grow to.
TEST(LiveJobs, AreFoundByTheNodeOfTheirWorkers) {
  LiveJobs jobs;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const JobId id{i};
    jobs.insert(id, named("a"));
    LiveJob& job = *jobs.find(id);
    jobs.place(job);
    jobs.note_on(job, NodeId{i % 2});
    jobs.note_on(job, NodeId{i % 2});
    if (i >= 4) jobs.erase(JobId{i - 4});
  }
  EXPECT_THAT(jobs.on(NodeId{0}), ElementsAre(JobId{4996}, JobId{4998}));
  EXPECT_THAT(jobs.on(NodeId{1}), ElementsAre(JobId{4997}, JobId{4999}));
  jobs.unplace(*jobs.find(JobId{4998}));
  EXPECT_THAT(jobs.on(NodeId{0}), ElementsAre(JobId{4996}));
  EXPECT_THAT(jobs.on(NodeId{2}), ElementsAre());
}

}  // namespace
}  // namespace orrery::sim
