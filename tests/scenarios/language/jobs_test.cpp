#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Scenario load_jobs(std::string_view jobs) { return load(with_cluster(jobs)); }

TEST(Jobs, TheShortFormHasOneRoleWithDefaults) {
  const Scenario scenario = load_jobs("jobs: [{name: a, work: 300s}]\n");
  const ScenarioJob& job = scenario.jobs[0];
  EXPECT_EQ(job.spec.name, "default.a");
  EXPECT_EQ(job.spec.family, JobFamily::Native);
  EXPECT_EQ(job.spec.backoff_limit, 3);
  EXPECT_FALSE(job.spec.preemptible);
  ASSERT_EQ(job.spec.roles.size(), 1U);
  EXPECT_EQ(job.spec.roles[0].name, "worker");
  EXPECT_EQ(job.spec.roles[0].bundle.devices, 1);
  EXPECT_EQ(run_time(job.work, 1), Duration::seconds(300));
}

TEST(Jobs, PrioritiesHaveNames) {
  const Scenario scenario = load_jobs(R"(
priority_classes: {production: 50, batch: -10, normal: 7}
jobs:
  - {name: a, priority: production, work: 1s}
  - {name: b, priority: batch, work: 1s}
  - {name: c, work: 1s}
  - {name: d, priority: high, work: 1s}
  - {name: e, priority: 3, work: 1s}
  - manifest:
      apiVersion: diengine.opendilab.org/v2alpha1
      kind: DIJob
      metadata: {name: f}
      spec: {priority: batch, template: {spec: {containers: [{name: di-container}]}}}
    work: 1s
requests:
  - {at: 1s, job: a, change: {priority: batch}}
)");
  std::vector<std::int32_t> priorities;
  for (const ScenarioJob& job : scenario.jobs) priorities.push_back(job.spec.priority);
  EXPECT_THAT(priorities, ElementsAre(50, -10, 7, 100, 3, -10));
  EXPECT_EQ(scenario.requests.at(0).change->priority, -10);
}

TEST(Jobs, WrongPrioritiesAreReportedTogether) {
  EXPECT_THAT(
      errors_of(with_cluster(R"(
priority_classes: {production: much, 5: 5, batch: -10, batch: 3}
jobs:
  - {name: a, priority: prodction, work: 1s}
  - {name: b, priority: 1000001, work: 1s}
)")),
      UnorderedElementsAre(
          HasSubstr("priority_classes.production: is 'much', a whole number within a"),
          HasSubstr("priority_classes.5: is no name for a class"),
          HasSubstr("priority_classes.batch: stands twice, once is needed"),
          HasSubstr("job a: priority: is 'prodction', one of normal, high, batch or a whole "
                    "number within a million is needed"),
          HasSubstr("job b: priority: is '1000001'")));
}

TEST(Jobs, EverythingOfASpecificationCanBeSaid) {
  const Scenario scenario = load_jobs(R"(
jobs:
  - name: research.train
    at: 30s
    group: vision
    priority: high
    preemptible: false
    rescale: restart
    recovery: role
    backoff_limit: 5
    backoff_base: 2s
    backoff_max: 1min
    start_deadline: 5min
    drain_grace: 10s
    unknown_deadline: 15min
    clean_pods: All
    profile: resnet50
    batch_size: 256
    estimate: 2h
    ready_after: 3s
    roles:
      learner:
        replicas: {min: 2, max: 4}
        type: learner
        gpus: 2
        gpu: h200
        cpu: 4
        memory: 8GiB
        command: [python, train.py]
        env: {SEED: 7}
        volumes: ["data:/data"]
      collector: {replicas: 1, completion: follower, gpus: 0, command: "sleep 1"}
    work: {units: 1000, throughput: 10, scaling: {amdahl: {serial: 0.1}}}
    workers:
      - {role: learner, local: 1, after: 20s, exit: 3, times: 2}
      - {rank: 0, kind: refuse}
)");
  const ScenarioJob& job = scenario.jobs[0];
  EXPECT_EQ(job.submit, Instant::zero() + Duration::seconds(30));
  EXPECT_EQ(job.spec.name, "research.train");
  EXPECT_EQ(job.spec.priority, 100);
  EXPECT_EQ(job.spec.rescale, RescaleMode::Restart);
  EXPECT_EQ(job.spec.recovery, RecoveryScope::Role);
  EXPECT_EQ(job.spec.clean_pods, CleanPodPolicy::All);
  EXPECT_EQ(job.spec.backoff_max, Duration::seconds(60));
  EXPECT_EQ(job.spec.estimate_source, EstimateSource::Declared);
  EXPECT_EQ(job.ready_after, Duration::seconds(3));
  const RoleSpec& learner = job.spec.roles[0];
  EXPECT_EQ(learner.min_replicas, 2);
  EXPECT_EQ(learner.max_replicas, 4);
  EXPECT_EQ(learner.type, TaskType::Learner);
  EXPECT_EQ(learner.bundle.devices, 2);
  EXPECT_EQ(learner.bundle.device_model, "h200");
  EXPECT_EQ(learner.bundle.cpu.count, 4000);
  EXPECT_THAT(learner.command, ElementsAre("python", "train.py"));
  EXPECT_EQ(learner.environment[0].value, "7");
  const RoleSpec& collector = job.spec.roles[1];
  EXPECT_EQ(collector.completion, Completion::Follower);
  EXPECT_EQ(collector.bundle.devices, 0);
  EXPECT_THAT(collector.command, ElementsAre("/bin/sh", "-c", "sleep 1"));
  EXPECT_EQ(job.work.scaling, ScalingKind::Amdahl);
  EXPECT_EQ(job.workers[0].worker.role, "learner");
  EXPECT_EQ(job.workers[0].times, 2);
  EXPECT_EQ(job.workers[1].kind, ScriptKind::Refuse);
}

TEST(Jobs, AJobWithARangeOfReplicasIsPreemptibleUnlessItSaysOtherwise) {
  EXPECT_TRUE(load_jobs("jobs: [{name: a, replicas: {min: 1, max: 4}}]").jobs[0].spec.preemptible);
  EXPECT_FALSE(load_jobs("jobs: [{name: a, replicas: {min: 1, max: 4}, preemptible: false}]")
                   .jobs[0]
                   .spec.preemptible);
}

TEST(Jobs, PartsOfADeviceAreThousandths) {
  const Scenario scenario = load_jobs("jobs: [{name: a, gpus: 0.25}]");
  EXPECT_EQ(scenario.jobs[0].spec.roles[0].bundle.devices, 1);
  EXPECT_EQ(scenario.jobs[0].spec.roles[0].bundle.share.thousandths, 250);
}

TEST(Jobs, WorkByDurationTakesThatLongWithTheFewestReplicas) {
  const Scenario scenario = load_jobs(
      "jobs: [{name: a, replicas: {min: 2, max: 8}, work: {duration: 100s}, estimate: oracle}]");
  EXPECT_EQ(run_time(scenario.jobs[0].work, 2), Duration::seconds(100));
  EXPECT_EQ(run_time(scenario.jobs[0].work, 4), Duration::seconds(50));
  EXPECT_EQ(scenario.jobs[0].spec.estimate, Duration::seconds(100));
  EXPECT_EQ(scenario.jobs[0].spec.estimate_source, EstimateSource::Oracle);
}

TEST(Jobs, AWorkTableGivesItsOwnThroughput) {
  const Scenario scenario =
      load_jobs("jobs: [{name: a, work: {units: 90, scaling: {table: {1: 10, 2: 18}}}}]");
  EXPECT_DOUBLE_EQ(rate_of(scenario.jobs[0].work, 2), 18);
}

TEST(Jobs, ReadyNeverIsForever) {
  EXPECT_TRUE(load_jobs("jobs: [{name: a, ready_after: never}]").jobs[0].ready_after->is_forever());
}

TEST(Jobs, RepeatedNamesAreReportedWithTheFirstPlace) {
  EXPECT_THAT(errors_of(with_cluster("jobs:\n  - name: a\n  - name: default.a\n")),
              ElementsAre(HasSubstr("test.yaml:4: job default.a: has the name of the job at "
                                    "test.yaml:3, names are unique; rename one")));
}

TEST(Jobs, AFollowerOnlyJobIsBadInput) {
  EXPECT_THAT(errors_of(with_cluster("jobs: [{name: a, roles: {eval: {completion: follower}}}]")),
              ElementsAre(HasSubstr("every role is a follower")));
}

TEST(Jobs, WorkersThatTheJobDoesNotHaveAreReported) {
  EXPECT_THAT(errors_of(with_cluster("jobs:\n- name: a\n  workers: [{rank: 3}, {role: x}]\n")),
              ElementsAre(HasSubstr("is 3, but there are at most 1"), HasSubstr("does not have")));
}

TEST(Jobs, WorkersThatRequestsMayAddCanBeNamed) {
  const std::string base = R"(
jobs: [{name: a, replicas: 2}, {name: b, roles: {x: {replicas: 1}, y: {replicas: 1}}}]
requests:
- {at: 1s, job: a, scale: {set: 4}}
- {at: 2s, job: a, scale: {add: 1}}
- {at: 3s, job: b, scale: {role: x, add: 2}}
- {at: 4s, job: b, change: {role: y, replicas: {min: 1, max: 5}}}
)";
  EXPECT_TRUE(parse_scenario(with_cluster(base + R"(
faults:
- {at: 9s, kind: crash, job: a, rank: 4}
- {at: 9s, kind: crash, job: b, role: x, local: 2}
- {at: 9s, kind: crash, job: b, role: y, local: 4}
expect:
- {job: a, worker_restarts: {worker/4: 1, 4: 1}}
)"),
                             "test.yaml",
                             {}));
  EXPECT_THAT(errors_of(with_cluster(base + R"(
faults:
- {at: 9s, kind: crash, job: a, rank: 5}
- {at: 9s, kind: crash, job: b, role: x, local: 3}
- {at: 9s, kind: crash, job: b, role: y, local: 5}
expect:
- {job: a, worker_restarts: {worker/5: 1}}
)")),
              ElementsAre(HasSubstr("is 5, but there are at most 5"),
                          HasSubstr("is 3, but there are at most 3"),
                          HasSubstr("is 5, but there are at most 5"),
                          HasSubstr("names 'worker/5'")));
}

TEST(Jobs, FailoverAndDeadlinesCanBeSaid) {
  const Scenario scenario = load_jobs(R"(
jobs:
  - name: a
    wait_deadline: 1h
    run_deadline: never
    work: 300s
    failover:
      mode: strict
      trigger: at_end
      response: role
      worker_failures_max: 2
      nodes_relaunched_max: unlimited
      reset_window: 6h
      jitter: 0.25
      relaunch_group: true
      hang_after: 10min
      hang_restarts: false
      straggler_factor: 1.5
controller: {lemon_incidents: 3, lemon_window: 1d, exclusion: 2h}
)");
  const JobSpec& spec = scenario.jobs[0].spec;
  EXPECT_EQ(spec.wait_deadline, Duration::seconds(3600));
  EXPECT_TRUE(spec.run_deadline.is_forever());
  EXPECT_EQ(spec.failover->mode, RecoveryMode::Strict);
  EXPECT_EQ(spec.failover->trigger, FailureTrigger::AtEnd);
  EXPECT_EQ(spec.failover->response, FailureResponse::Role);
  EXPECT_EQ(spec.failover->worker_failures_max, 2);
  EXPECT_EQ(spec.failover->job_restarts_max, kUnlimited);
  EXPECT_EQ(spec.failover->nodes_relaunched_max, kUnlimited);
  EXPECT_EQ(spec.failover->reset_window, Duration::seconds(6 * 3600));
  EXPECT_EQ(spec.failover->jitter, 0.25);
  EXPECT_TRUE(spec.failover->relaunch_group);
  EXPECT_EQ(spec.failover->hang_after, Duration::seconds(600));
  EXPECT_FALSE(spec.failover->hang_restarts);
  EXPECT_EQ(spec.failover->straggler_factor, 1.5);
  EXPECT_EQ(scenario.settings.lemon_incidents, 3);
  EXPECT_EQ(scenario.settings.lemon_window, Duration::seconds(86'400));
  EXPECT_EQ(scenario.settings.exclusion, Duration::seconds(7200));
}

TEST(Jobs, ASubMasterIsARoleAfterAllOthers) {
  const Scenario scenario = load_jobs(R"(
jobs:
  - name: a
    roles: {learner: {replicas: 2, sub_master: true}, actor: {replicas: 2}}
    workers: [{role: learner-master, exit: 1}]
    work: 300s
  - {name: b, replicas: 2, sub_master: true, work: 300s}
)");
  const JobSpec& spec = scenario.jobs[0].spec;
  ASSERT_EQ(spec.roles.size(), 3U);
  EXPECT_EQ(spec.roles[2].name, "learner-master");
  EXPECT_EQ(spec.roles[2].master_of, RoleIndex{0});
  EXPECT_EQ(spec.roles[2].completion, Completion::Follower);
  EXPECT_EQ(spec.roles[2].bundle.devices, 0);
  EXPECT_EQ(sub_master_of(spec, RoleIndex{0}), RoleIndex{2});
  ASSERT_EQ(scenario.jobs[1].spec.roles.size(), 2U);
  EXPECT_EQ(scenario.jobs[1].spec.roles[1].name, "worker-master");
}

TEST(Jobs, SparesLeaveANodeToWork) {
  const Scenario scenario =
      load("cluster: {nodes: 3, gpus_per_node: 2, spares: 1}\njobs: [{name: a, work: 1s}]\n");
  EXPECT_EQ(scenario.groups[0].spares, 1);
  EXPECT_THAT(errors_of("cluster: {nodes: 3, spares: 3}\njobs: [{name: a, work: 1s}]\n"),
              ElementsAre(HasSubstr("cluster.spares: leaves none of the 3 nodes to work")));
}

TEST(Jobs, FailoverSaysWhatIsWrongWithIt) {
  EXPECT_THAT(errors_of(with_cluster(R"(
jobs:
  - name: a
    run_deadline: 0s
    work: 300s
    failover: {hang_after: 0s, straggler_factor: 0.9, jitter: 2, role_restarts_max: -1}
)")),
              testing::UnorderedElementsAre(
                  HasSubstr("run_deadline: is 0, a time above 0 is needed"),
                  HasSubstr("failover.hang_after: is 0, a time above 0 is needed"),
                  HasSubstr("failover.straggler_factor: is not above 1"),
                  HasSubstr("failover.jitter: "),
                  HasSubstr("failover.role_restarts_max: ")));
}

}  // namespace
}  // namespace orrery::scenarios
