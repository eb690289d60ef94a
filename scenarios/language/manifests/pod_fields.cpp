// The tables of pod_fields.hpp: the fields of all versions of Kubernetes' core/v1 together, for
// names that are gone stand in old manifests.
#include "scenarios/language/manifests/pod_fields.hpp"

#include <algorithm>
#include <array>

#include "core/base/invariant.hpp"

namespace orrery::scenarios {
namespace {

using enum FieldTreatment;

constexpr std::string_view kMadeByApiServer = "made by an API server, which this is not";
constexpr std::string_view kNoKubernetesApi = "there is no Kubernetes API to speak to";
constexpr std::string_view kWorkerAddresses =
    "workers find each other by the addresses in their environment; use those";
constexpr std::string_view kByPlacement =
    "placements are written in a job of our own form, by the key placement";
constexpr std::string_view kUserOfWorkers = "the agent's settings say which user workers run as";

/// The rules of fields that are treated alike.
template <class... Names>
constexpr std::array<FieldRule, sizeof...(Names)> alike(FieldTreatment treatment,
                                                        std::string_view words,
                                                        Names... names) {
  return {FieldRule{names, treatment, words}...};
}

template <std::size_t kFirst, std::size_t kSecond>
constexpr auto joined(const std::array<FieldRule, kFirst>& first,
                      const std::array<FieldRule, kSecond>& second) {
  std::array<FieldRule, kFirst + kSecond> out{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), out.begin()));
  return out;
}

/// Of every object that has a name in Kubernetes.
constexpr auto kObjectMetadata = std::to_array<FieldRule>({
    {"generateName", Refused, "write a name"},
    {"creationTimestamp", Ignored, kMadeByApiServer},
    {"deletionGracePeriodSeconds", Ignored, kMadeByApiServer},
    {"deletionTimestamp", Ignored, kMadeByApiServer},
    {"finalizers", Ignored, "jobs are deleted by orrery delete"},
    {"generation", Ignored, kMadeByApiServer},
    {"managedFields", Ignored, kMadeByApiServer},
    {"ownerReferences", Ignored, "jobs belong to nothing else"},
    {"resourceVersion", Ignored, kMadeByApiServer},
    {"selfLink", Ignored, kMadeByApiServer},
    {"uid", Ignored, kMadeByApiServer},
});

constexpr auto kManifestMetadata =
    joined(std::to_array<FieldRule>({
               {"name", Mapped, "name of the job"},
               {"namespace", Mapped, "namespace of the job, `default` unless said"},
               {"labels", Mapped, "labels of the job"},
               {"annotations", Ignored, "they speak to other programs"},
           }),
           kObjectMetadata);

constexpr auto kTemplateMetadata =
    joined(std::to_array<FieldRule>({
               {"labels", Mapped, "labels of the job, unless it has others of the same name"},
               {"annotations", Ignored, "they speak to other programs"},
               {"name", Ignored, "workers are called by job, role and rank"},
               {"namespace", Ignored, "the job's own is used"},
           }),
           kObjectMetadata);

constexpr FieldRule kTemplate[]{
    {"metadata", Mapped, "see template metadata"},
    {"spec", Mapped, "see pod"},
};

constexpr FieldRule kRestartPolicy{
    "restartPolicy",
    Mapped,
    "`Never`, which it is anyway: `Always` and `OnFailure` are taken for it with a warning, for "
    "the job's backoffLimit decides"};

constexpr FieldRule kPod[]{
    {"containers",
     Mapped,
     "one is the worker; see container. Others beside `di-container` are refused by name"},
    kRestartPolicy,
    {"terminationGracePeriodSeconds",
     Mapped,
     "drain grace of the job; the longest where templates differ"},
    {"volumes", Mapped, "see volume"},
    {"os", Mapped, "`linux`; anything else is refused"},
    {"activeDeadlineSeconds",
     Refused,
     "write run_deadline in a job of our own form, with the manifest under its key manifest"},
    {"affinity", Refused, kByPlacement},
    {"automountServiceAccountToken", Ignored, kNoKubernetesApi},
    {"dnsConfig", Refused, "workers resolve names as their node does; set it up there"},
    {"dnsPolicy", Ignored, "workers resolve names as their node does"},
    {"enableServiceLinks", Ignored, "there are no services"},
    {"ephemeralContainers", Refused, "debug a worker on its node"},
    {"hostAliases",
     Refused,
     "workers resolve names as their node does; add the names to its hosts file"},
    {"hostIPC", Ignored, "workers share what the node has"},
    {"hostNetwork", Ignored, "workers use the network of their node anyway"},
    {"hostPID", Ignored, "workers share what the node has"},
    {"hostUsers", Ignored, kUserOfWorkers},
    {"hostname", Refused, kWorkerAddresses},
    {"hostnameOverride", Refused, kWorkerAddresses},
    {"imagePullSecrets", Ignored, "the container runtime of the node logs in by its own settings"},
    {"initContainers",
     Refused,
     "prepare the node by isolation.prepare of a role in a job of our own form, or begin the "
     "worker's command with it"},
    {"nodeName", Refused, kByPlacement},
    {"nodeSelector",
     Refused,
     "ask for a device_model, or write a placement, in a job of our own form"},
    {"overhead", Ignored, "there is no sandbox to pay for"},
    {"preemptionPolicy", Ignored, "spec.priority and spec.preemptible decide"},
    {"priority", Ignored, "spec.priority decides"},
    {"priorityClassName", Ignored, "spec.priority decides"},
    {"readinessGates", Ignored, "a worker is ready when it has started"},
    {"resourceClaims", Refused, "ask for nvidia.com/gpu in the container's resources"},
    {"resources", Refused, "write the resources of the container"},
    {"runtimeClassName", Ignored, "the agent's settings name the container runtime"},
    {"schedulerName", Ignored, "the controller's policy schedules"},
    {"schedulingGates", Refused, "submit the job when it may run"},
    {"securityContext", Refused, kUserOfWorkers},
    {"serviceAccount", Ignored, kNoKubernetesApi},
    {"serviceAccountName", Ignored, kNoKubernetesApi},
    {"setHostnameAsFQDN", Ignored, "workers keep the name of their node"},
    {"shareProcessNamespace", Ignored, "a worker is one container"},
    {"subdomain", Refused, kWorkerAddresses},
    {"tolerations", Ignored, "nodes have no taints"},
    {"topologySpreadConstraints", Refused, kByPlacement},
    {"workloadRef",
     Refused,
     "gangs are formed anyway: a job starts with all of its minimum; remove it"},
};

constexpr FieldRule kContainer[]{
    {"name", Mapped, "says which container is the worker"},
    {"command",
     Mapped,
     "with args: the worker's command; needed. `$(NAME)` of the container's own env is put in"},
    {"args", Mapped, "behind command, without which they are refused"},
    {"env", Mapped, "see env"},
    {"image",
     Mapped,
     "image of the role: it runs by the agent's container runtime, without one the command runs on "
     "the host"},
    {"resources", Mapped, "see resources"},
    {"volumeMounts", Mapped, "see volumeMount"},
    {"workingDir", Mapped, "working directory of the role"},
    kRestartPolicy,
    {"envFrom", Refused, "write each variable under env"},
    {"imagePullPolicy", Ignored, "the container runtime decides"},
    {"lifecycle", Refused, "let the command do it, and react to SIGTERM"},
    {"livenessProbe",
     Refused,
     "write failover.hang_after in a job of our own form, with the manifest under its key "
     "manifest"},
    {"ports",
     Ignored,
     "workers listen on the network of their node, on ports that their environment names"},
    {"readinessProbe", Ignored, "a worker is ready when it has started"},
    {"resizePolicy", Ignored, "workers are not resized while they run"},
    {"restartPolicyRules", Refused, "the job's backoffLimit decides; remove them"},
    {"securityContext", Refused, kUserOfWorkers},
    {"startupProbe",
     Refused,
     "write start_deadline in a job of our own form, with the manifest under its key manifest"},
    {"stdin", Ignored, "workers read nothing"},
    {"stdinOnce", Ignored, "workers read nothing"},
    {"terminationMessagePath", Ignored, "the end of the log is kept"},
    {"terminationMessagePolicy", Ignored, "the end of the log is kept"},
    {"tty", Ignored, "workers write to a log"},
    {"volumeDevices", Refused, "mount a folder by volumeMounts"},
};

constexpr FieldRule kEnv[]{
    {"name", Mapped, "name of the variable"},
    {"value", Mapped, "its value, `$(NAME)` of variables above put in"},
    {"valueFrom", Refused, "write the value itself"},
};

constexpr FieldRule kResources[]{
    {"requests", Mapped, "see quantities; they go before limits"},
    {"limits", Mapped, "see quantities"},
    {"claims", Refused, "ask for nvidia.com/gpu in the limits"},
};

constexpr FieldRule kQuantities[]{
    {"cpu", Mapped, "cores of a worker, 1 unless said"},
    {"memory", Mapped, "memory of a worker, 2Gi unless said"},
    {"nvidia.com/gpu", Mapped, "devices of a worker, none unless said"},
    {"ephemeral-storage", Ignored, "the disk of a node is not shared out"},
    {"hugepages-*", Refused, "set them up on the node"},
    {"*/*",
     Refused,
     "only nvidia.com/gpu is counted; other hardware is asked for by a placement, in a job of our "
     "own form"},
};

constexpr FieldRule kVolumeMount[]{
    {"name", Mapped, "one of the volumes"},
    {"mountPath", Mapped, "where the worker finds it"},
    {"mountPropagation", Refused, "mount the inner file systems on the node"},
    {"readOnly", Ignored, "volumes can be written by their job"},
    {"recursiveReadOnly", Ignored, "volumes can be written by their job"},
    {"subPath", Refused, "name the inner folder by hostPath"},
    {"subPathExpr", Refused, "name the inner folder by hostPath"},
};

constexpr auto kVolume =
    joined(std::to_array<FieldRule>({
               {"name", Mapped, "name of the volume"},
               {"hostPath", Mapped, "see hostPath"},
               {"emptyDir",
                Mapped,
                "a folder of the job on each node, which goes with the job; see emptyDir"},
               {"configMap",
                Mapped,
                "the files of a document of kind ConfigMap in the same file; see configMap"},
               {"downwardAPI", Refused, "the environment of a worker says what it is"},
               {"projected", Refused, "put the files on the nodes and name the folder by hostPath"},
               {"secret", Refused, "put the files on the nodes and name the folder by hostPath"},
               {"ephemeral", Refused, "use emptyDir"},
               {"gitRepo", Refused, "fetch it in the command"},
               {"image", Refused, "unpack it on every node and name the folder by hostPath"},
           }),
           alike(Refused,
                 "mount it on every node and name the folder by hostPath",
                 "awsElasticBlockStore",
                 "azureDisk",
                 "azureFile",
                 "cephfs",
                 "cinder",
                 "csi",
                 "fc",
                 "flexVolume",
                 "flocker",
                 "gcePersistentDisk",
                 "glusterfs",
                 "iscsi",
                 "nfs",
                 "persistentVolumeClaim",
                 "photonPersistentDisk",
                 "portworxVolume",
                 "quobyte",
                 "rbd",
                 "scaleIO",
                 "storageos",
                 "vsphereVolume"));

constexpr FieldRule kHostPath[]{
    {"path", Mapped, "folder on the node"},
    {"type", Ignored, "the worker finds what is there"},
};

constexpr FieldRule kConfigMap[]{
    {"name", Mapped, "of a ConfigMap in the same file and namespace"},
    {"items", Mapped, "which of its files, and what they are called; see configMap item"},
    {"optional", Mapped, "`true`: without its document the folder is empty"},
    {"defaultMode", Ignored, "the files can be read by every worker of the job"},
};

constexpr FieldRule kConfigMapItem[]{
    {"key", Mapped, "a key of the ConfigMap's data"},
    {"path", Mapped, "name of the file, without folders"},
    {"mode", Ignored, "the files can be read by every worker of the job"},
};

constexpr FieldRule kEmptyDir[]{
    {"medium",
     Mapped,
     "`Memory`: a file system in memory of each worker, where its agent may mount; otherwise a "
     "folder on disk, and a notice says so. Anything else is refused"},
    {"sizeLimit", Ignored, "the disk of a node is not shared out"},
};

constexpr std::array kTables{
    FieldTable{"manifest metadata", kManifestMetadata},
    FieldTable{"template metadata", kTemplateMetadata},
    FieldTable{"template", kTemplate},
    FieldTable{"pod", kPod},
    FieldTable{"container", kContainer},
    FieldTable{"env", kEnv},
    FieldTable{"resources", kResources},
    FieldTable{"quantities", kQuantities},
    FieldTable{"volumeMount", kVolumeMount},
    FieldTable{"volume", kVolume},
    FieldTable{"hostPath", kHostPath},
    FieldTable{"emptyDir", kEmptyDir},
    FieldTable{"configMap", kConfigMap},
    FieldTable{"configMap item", kConfigMapItem},
};

/// Whether `name` is what `pattern` stands for: itself, a beginning before '*', or anything with a
/// '/'.
bool stands_for(std::string_view pattern, std::string_view name) {
  if (pattern == "*/*") return name.find('/') != std::string_view::npos;
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace

const FieldRule* FieldTable::find(std::string_view name) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const FieldRule& rule) {
    return stands_for(rule.name, name);
  });
  return found == rules.end() ? nullptr : &*found;
}

std::span<const FieldTable> pod_field_tables() { return kTables; }

const FieldTable& pod_field_table(std::string_view object) {
  const auto found = std::find_if(kTables.begin(), kTables.end(), [&](const FieldTable& table) {
    return table.object == object;
  });
  invariant(found != kTables.end(), "an object that is read has a table");
  return *found;
}

}  // namespace orrery::scenarios
