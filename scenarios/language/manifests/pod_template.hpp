// Pod templates of foreign manifests as roles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/spec.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {

/// Longest word that Linux hands to a program.
inline constexpr std::size_t kWordMax = 131'071;

/// Most volumes of one pod.
inline constexpr std::size_t kVolumesMax = 256;

/// Key under which the reader of a job file puts the document of a ConfigMap into the volume that
/// names it: none that a file can have there by mistake.
inline constexpr std::string_view kDocument = "(document of the file)";

/// The value at the end of a path of keys in a Kubernetes object, or nullptr.
const YamlNode* value_at(const YamlNode* node, std::initializer_list<std::string_view> path);

/// The container of a pod template that is the worker: the one of DI-engine's name, else the first.
const YamlNode* worker_container(const YamlNode* pod_template);

/// `text` with each `$(NAME)` of a variable in `environment` replaced, as Kubernetes does: other
/// names stay as they are and are appended to `unknown`; `$$` is one `$`. Ends once the result is
/// longer than `kWordMax`.
std::string put_in_variables(std::string_view text,
                             const std::vector<KeyValue>& environment,
                             std::vector<std::string>& unknown);

/// Reports every field of a pod template that is no part of the job: refused ones and unknown names
/// as errors, ignored ones as warnings; and what is not of the form that it must have. `volumes`,
/// nullptr where there are none, are those of the job, of which mounts may speak as well.
void judge_pod_template(Reading& reading,
                        const YamlNode& pod_template,
                        const YamlNode* volumes,
                        const std::string& subject);

/// The same for the volumes that every pod of a job gets.
void judge_volumes(Reading& reading, const YamlNode& volumes, const std::string& subject);

/// The same for the keys of one object, by the table of that name; what is under them is not
/// judged.
void judge_object(Reading& reading,
                  const YamlNode& node,
                  std::string_view object,
                  const std::string& subject);

/// Takes the documents of kind ConfigMap out of those of a job file, and puts each into the volumes
/// of the manifests that name it. Reports what is wrong with them.
void hand_out_config_maps(Reading& reading, std::vector<YamlNode>& documents);

/// Reads the pod templates of one job.
class PodReader {
 public:
  /// Both must outlive this.
  PodReader(Reading& reading, JobUse use, JobSpec& job) : reading_(reading), use_(use), job_(job) {}

  /// A template, which may be nullptr, and the volumes that every pod of the job gets, or nullptr.
  /// `subject` is what has the template.
  void read(const YamlNode* pod_template,
            const YamlNode* volumes,
            const std::string& subject,
            RoleSpec& role);

 private:
  void read_volumes(const YamlNode* pod_template, const YamlNode* of_job, RoleSpec& role);
  void add_mounts(const YamlNode& volume,
                  const std::string& name,
                  const YamlNode* container,
                  RoleSpec& role);
  std::string folder_of(const YamlNode& config_map, const std::string& name);
  void read_container(const YamlNode& container, const std::string& subject, RoleSpec& role);
  void read_command(const YamlNode& container, const std::string& subject, RoleSpec& role);
  void read_labels(const YamlNode* labels, const std::string& subject);
  void read_grace(const YamlNode* seconds, const std::string& subject);
  void read_resources(const YamlNode& container, const std::string& subject, Bundle& bundle);
  std::string put_in(const YamlNode& text,
                     const std::string& subject,
                     const std::vector<KeyValue>& environment);

  Reading& reading_;
  JobUse use_;
  JobSpec& job_;
  bool grace_seen_ = false;
};

}  // namespace orrery::scenarios
