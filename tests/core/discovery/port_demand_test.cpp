#include "core/discovery/port_demand.hpp"

#include <gtest/gtest.h>

#include "core/cluster/port_ledger.hpp"

namespace orrery {
namespace {

JobSpec job_of(JobFamily family) {
  JobSpec spec;
  spec.name = "default.job";
  spec.family = family;
  spec.roles.items().resize(2);
  spec.roles[0].name = "learner";
  spec.roles[1].name = "collector";
  return spec;
}

TEST(PortDemand, AGroupWorkerListensWithEachOfItsProcessesAndMayLead) {
  JobSpec spec = job_of(JobFamily::Group);
  spec.parallel_workers = 4;
  EXPECT_EQ(ports_of(spec, RoleIndex{0}), 5);
  EXPECT_EQ(master_port(spec, kPortFirst), 22274);
}

TEST(PortDemand, ATasksWorkerListensOnceAndMayLead) {
  const JobSpec spec = job_of(JobFamily::Tasks);
  EXPECT_EQ(ports_of(spec, RoleIndex{0}), 2);
  EXPECT_EQ(ports_of(spec, RoleIndex{1}), 2);
  EXPECT_EQ(master_port(spec, kPortFirst), 22271);
}

TEST(PortDemand, ANativeWorkerMayLeadWhereItHasAProgram) {
  JobSpec spec = job_of(JobFamily::Native);
  spec.parallel_workers = 4;  // Of the group family only.
  spec.roles[1].command = {"train"};
  EXPECT_EQ(ports_of(spec, RoleIndex{0}), 0);
  EXPECT_EQ(ports_of(spec, RoleIndex{1}), 1);
  EXPECT_EQ(master_port(spec, kPortFirst), kPortFirst);
}

TEST(PortDemand, MoreParallelWorkersThanANodeHasPortsAreRefused) {
  JobSpec spec = job_of(JobFamily::Group);
  spec.parallel_workers = kPortsPerNode - 1;  // And the master's.
  EXPECT_TRUE(check_spec(spec).empty());
  ++spec.parallel_workers;
  const Errors errors = check_spec(spec);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(
      errors[0].text(),
      "default.job: parallel_workers is 10498, a node has ports for 10497 beside the master's "
      "(22270 to 32767); run fewer in each worker");
}

}  // namespace
}  // namespace orrery
