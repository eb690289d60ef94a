#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string job_with(std::string_view spec) {
  return with_cluster(R"(
jobs:
  - at: 1s
    work: 60s
    manifest:
      apiVersion: diengine.opendilab.org/v2alpha1
      kind: DIJob
      metadata: {name: cartpole, namespace: rl}
      spec:
)") + std::string(spec);
}

constexpr std::string_view kGroupForm = R"(
        group: xxx
        priority: high
        cleanPodPolicy: All
        preemptible: true
        minReplicas: 2
        maxReplicas: 4
        engineFields: {topology: mesh, parallelWorkers: 2}
        template:
          metadata: {labels: {anything: goes}}
          spec:
            restartPolicy: Never
            containers:
              - {name: sidecar, image: proxy}
              - name: di-container
                image: opendilab/ding:nightly
                command: [/bin/bash, -c]
                args: [ditask]
                env: [{name: PYTHONUNBUFFERED, value: "1"}]
                resources:
                  requests: {cpu: 500m, memory: 4Gi}
                  limits: {cpu: 6, nvidia.com/gpu: 1}
)";

TEST(Manifest, TheGroupFormMapsOntoOneRole) {
  const JobSpec spec = load(job_with(kGroupForm)).jobs[0].spec;
  EXPECT_EQ(spec.name, "rl.cartpole");
  EXPECT_EQ(spec.family, JobFamily::Group);
  EXPECT_EQ(*spec.group, "xxx");
  EXPECT_EQ(spec.priority, 100);
  EXPECT_TRUE(spec.preemptible);
  EXPECT_EQ(spec.backoff_limit, 0) << "a failed worker fails the job";
  EXPECT_EQ(spec.clean_pods, CleanPodPolicy::All);
  EXPECT_EQ(spec.topology, Topology::Mesh);
  EXPECT_EQ(spec.parallel_workers, 2);
  EXPECT_EQ(spec.rescale, RescaleMode::Restart) << "the whole set is recreated";
  ASSERT_EQ(spec.roles.size(), 1U);
  const RoleSpec& role = spec.roles[0];
  EXPECT_EQ(role.min_replicas, 2);
  EXPECT_EQ(role.max_replicas, 4);
  EXPECT_EQ(role.bundle.devices, 1);
  EXPECT_EQ(role.bundle.cpu.count, 500) << "requests before limits";
  EXPECT_EQ(role.bundle.memory.count, std::int64_t{4} << 30);
  EXPECT_THAT(role.command, ElementsAre("/bin/bash", "-c", "ditask"));
  EXPECT_EQ(role.environment[0].key, "PYTHONUNBUFFERED");
}

TEST(Manifest, TheTasksFormMapsOntoRolesWithDefaults) {
  const JobSpec spec = load(job_with(R"(
        volumes: [{name: cache, emptyDir: {}}, {name: code, hostPath: {path: /src}}]
        tasks:
          - type: learner
            template:
              spec:
                containers:
                  - name: di-container
                    volumeMounts: [{name: code, mountPath: /app}]
          - {type: collector, replicas: 2, name: gather}
)"))
                           .jobs[0]
                           .spec;
  EXPECT_EQ(spec.family, JobFamily::Tasks);
  EXPECT_EQ(spec.backoff_limit, 3);
  EXPECT_EQ(spec.clean_pods, CleanPodPolicy::Running);
  EXPECT_FALSE(spec.preemptible);
  ASSERT_EQ(spec.roles.size(), 2U);
  EXPECT_EQ(spec.roles[0].name, "learner") << "an empty typed name becomes the type";
  EXPECT_EQ(spec.roles[0].bundle.cpu.count, 1000) << "1 CPU and 2Gi unless the template asks";
  EXPECT_EQ(spec.roles[0].bundle.devices, 0);
  EXPECT_THAT(spec.roles[0].volumes, ElementsAre("/src:/app")) << "what it mounts";
  EXPECT_EQ(spec.roles[1].name, "gather");
  EXPECT_EQ(spec.roles[1].min_replicas, 2);
}

TEST(Manifest, WhatDiOrchestratorJudgesAtRunTimePassesTheLoader) {
  EXPECT_THAT(errors_of(job_with("        tasks: []\n")), ElementsAre(HasSubstr("has no task")))
      << "DI-orchestrator leaves such a job Pending forever";
  const Scenario twice =
      load(job_with("        tasks: [{type: collector}, {type: collector, name: b}]\n"));
  EXPECT_FALSE(check_spec(twice.jobs[0].spec).empty());
  const Scenario unnamed = load(job_with("        tasks: [{type: none}]\n"));
  EXPECT_EQ(unnamed.jobs[0].spec.roles[0].name, "");
}

TEST(Manifest, MixedFormsAndForeignKindsAreBadInput) {
  EXPECT_THAT(errors_of(job_with("        minReplicas: 1\n        tasks: [{type: learner}]\n")),
              ElementsAre(HasSubstr("minReplicas: belongs to the group form")));
  EXPECT_THAT(errors_of(job_with("        minReplicas: 1\n")),
              ElementsAre(HasSubstr("template: is missing")));
  std::string foreign = job_with(kGroupForm);
  foreign.replace(foreign.find("DIJob"), 5, "PodJob");
  EXPECT_THAT(errors_of(foreign), ElementsAre(HasSubstr("kind: is 'PodJob', 'DIJob' is needed")));
}

TEST(Manifest, KeysThatItSaysItselfAreRefusedBesideIt) {
  std::string text = job_with(kGroupForm);
  text.replace(text.find("work: 60s"), 9, "gpus: 2");
  EXPECT_THAT(errors_of(text), ElementsAre(HasSubstr("stands beside 'manifest'")));
}

}  // namespace
}  // namespace orrery::scenarios
