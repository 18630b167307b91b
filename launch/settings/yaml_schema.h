// Section schema of the YAML file:
//
//   schema:
//     format: delimited            # a text format
//     separator: ","               # one character, or tab; also: quotes, header (true, false)
//     label: {column: rating, rule: ">= 4"}
//     weight: w                    # of samples; none if left out
//     dense: [{name: age, transform: standardise, missing: 30}, price]
//     categorical: [{name: user, ids: dictionary, min_count: 2}, {name: genres, separator: "|"}]
//     ignored: [timestamp]
//     columns: [rating, ...]       # with header: false
//
// A column may be its name alone. Keys: launch/settings/schema_fields.h. Threads: pure functions.
#pragma once

#include <yaml-cpp/yaml.h>

#include "launch/settings/yaml_source.h"
#include "worker/data/schema.h"

namespace rowhouse {

// Overwrites *schema. kUsage for a mistake of form and for what CheckSchema refuses.
Status ReadYamlSchema(const YamlSource& source, const YAML::Node& node, Schema* schema);

// A map from which ReadYamlSchema makes the same schema.
void EmitYamlSchema(const Schema& schema, YAML::Emitter& out);

}  // namespace rowhouse
