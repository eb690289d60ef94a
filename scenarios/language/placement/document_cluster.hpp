// The cluster of a placement document: its nodes, node groups and custom hardware.
#pragma once

#include "scenarios/language/placement/document_parts.hpp"
#include "scenarios/language/placement/document_reading.hpp"
#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::scenarios {

/// The nodes of a document.
struct DocumentNodes {
  std::vector<placement::InventoryNode> nodes;
  std::vector<placement::InventoryGroup> groups;  ///< Of a scenario's cluster, by name.
  bool sound = false;                             ///< Else something about them was reported.
};

/// `cluster.nodes` as a list, or a scenario's cluster; with `num_nodes`.
DocumentNodes read_document_nodes(const DocumentParts& parts,
                                  DocumentReading& reading,
                                  std::vector<std::string>& remarks);

/// What `node_groups` declare.
struct DocumentGroups {
  std::vector<placement::GroupDeclaration> declared;  ///< All that can be judged on.
  std::vector<std::string> broken;                    ///< Labels of those with a wrong shape.
  std::vector<placement::TextPosition> starts;        ///< Of all, sound or not.
};

DocumentGroups read_document_groups(const DocumentParts& parts, DocumentReading& reading);

/// The types of custom hardware: those built in and those of `hardware_types`.
std::vector<placement::HardwareType> read_hardware_types(const DocumentParts& parts,
                                                         DocumentReading& reading);

/// All of it. True where the nodes are known and sound.
bool read_document_cluster(const DocumentParts& parts,
                           DocumentReading& reading,
                           PlacementDocument& document);

}  // namespace orrery::scenarios
