// Validates docs/launchers/kubernetes.yaml against Kubernetes' published schema (1.25, as the npm
// package kubernetes-models carries it), every map closed: a field that Kubernetes does not know is an
// error, as `kubectl apply --validate=strict` has it. Then reads the settings inside with the daemons'
// own reader. Skipped (77) where npm or its registry is missing.
//
// Usage: node validate.mjs ROOT WORK_FOLDER PRINT_SETTINGS
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { npmPackages } from "../../../support/npm_packages.mjs";

const [root, work, printSettings] = process.argv.slice(2);
const here = path.join(root, "tests/runtime/launch/kubernetes");

/** A copy of `schema` whose maps with named fields allow no others. */
function closed(schema) {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const fields = copy.properties;
  if (fields !== undefined && !("$ref" in copy) && !("additionalProperties" in copy))
    copy.additionalProperties = false;
  return copy;
}

const require = npmPackages(here, work);
const yaml = require("js-yaml");
const Ajv = require("ajv").default;
const addSchema = Ajv.prototype.addSchema;
// Meta schemas of the validator itself come as they are.
Ajv.prototype.addSchema = function (schema, id, ...more) {
  const ours = typeof id === "string" && id.startsWith("io.k8s.");
  return addSchema.call(this, ours ? closed(schema) : schema, id, ...more);
};
const { validate } = require("@kubernetes-models/validate");

const KINDS = {
  "v1 ConfigMap": "io.k8s.api.core.v1.ConfigMap",
  "v1 Service": "io.k8s.api.core.v1.Service",
  "apps/v1 StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
  "apps/v1 DaemonSet": "io.k8s.api.apps.v1.DaemonSet",
};

/** What the schema of its kind says of a document. */
function faultsOf(document) {
  const id = KINDS[`${document.apiVersion} ${document.kind}`];
  if (id === undefined) return [`no kind of this test: ${document.apiVersion} ${document.kind}`];
  const module = id.split(".").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  require(path.join(work, "node_modules/kubernetes-models/_schemas", `${module}.js`)).addSchema();
  try {
    validate(id, document);
    return [];
  } catch (trouble) {
    if (!trouble.errors) throw trouble;
    return trouble.errors.map((error) =>
      `${document.kind}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
  }
}

function expect(holds, what) {
  if (holds) return;
  console.error(`FAILED: ${what}`);
  process.exitCode = 1;
}

const text = readFileSync(path.join(root, "docs/launchers/kubernetes.yaml"), "utf8");
const documents = yaml.loadAll(text);
expect(documents.length === 4, `four documents, not ${documents.length}`);
for (const document of documents) {
  const faults = faultsOf(document);
  expect(faults.length === 0, faults.join("\n"));
}

// The validation itself finds what is wrong, at every depth.
const daemons = documents.find((document) => document.kind === "DaemonSet");
for (const spoil of [
  (set) => { set.spec.template.spec.containers[0].imagePullPolice = "Always"; },
  (set) => { delete set.spec.selector; },
  (set) => { set.spec.template.spec.containers[0].resources.limits.memory = "much"; },
  (set) => { set.spec.template.spec.hostPID = "no"; },
  (set) => { set.spec.template.spec.volumes[0].emptydir = {}; },
]) {
  const spoilt = structuredClone(daemons);
  spoil(spoilt);
  expect(faultsOf(spoilt).length > 0, `a fault that was not found: ${spoil}`);
}

expect(daemons.spec.template.spec.hostPID === false, "hostPID is off");
expect("nvidia.com/gpu" in daemons.spec.template.spec.containers[0].resources.limits, "GPUs are asked for");
for (const set of documents.filter((document) => document.spec?.template)) {
  const pod = set.spec.template.spec;
  const volumes = new Set(pod.volumes.map((volume) => volume.name));
  for (const claim of set.spec.volumeClaimTemplates ?? []) volumes.add(claim.metadata.name);
  for (const container of pod.containers) {
    expect(container.livenessProbe !== undefined, `${set.kind} has a liveness probe`);
    for (const mount of container.volumeMounts)
      expect(volumes.has(mount.name), `${set.kind}: volume ${mount.name} is declared`);
  }
  const labels = set.spec.template.metadata.labels;
  for (const [key, value] of Object.entries(set.spec.selector.matchLabels))
    expect(labels[key] === value, `${set.kind} selects its own pods`);
}

// The settings inside are sound to the daemons, with the arguments of the containers.
const settings = documents.find((document) => document.kind === "ConfigMap").data;
const values = { NODE_NAME: "gpu-1", POD_IP: "10.0.0.7", CPU_LIMIT: "90", MEMORY_LIMIT: "966367641600" };
for (const verb of ["controller", "agent"]) {
  const file = path.join(work, `${verb}.yaml`);
  writeFileSync(file, settings[`${verb}.yaml`]);
  const set = documents.find((document) => document.metadata.name === `orrery-${verb}`);
  const command = set.spec.template.spec.containers[0].command.map((word) =>
    word.replace(/\$\((\w+)\)/g, (_, name) => values[name]));
  expect(command[1] === verb && command[3] === `/etc/orrery/${verb}.yaml`, `${verb}: ${command}`);
  const done = spawnSync(printSettings, [verb, file, ...command.slice(4)], { encoding: "utf8" });
  expect(done.status === 0, `${verb}: ${done.stderr}`);
}
if (process.exitCode !== 1) console.log("ok");
