// The YAML file of --config: the model, its tables, the data and how to train; see configs/.
//
//   model, data, training, storage, cluster, output:
//     Keys are names of settings, which are the flags' names. A list is [13, 512, 16] or 13-512-16.
//   tables:
//     defaults: {kind, optimizer, dim, pooling, ...}   keys of launch/settings/key_fields.h, and
//                                                      options of the kind (sharding/tables/kinds/)
//     Then either  rows: [1460, 583]  and  names: [C1, C2]   (without names: t0, t1, ...)
//     or           list: [{name: user, rows: 1000000, optimizer: sgd}, ...]
//   schema: what the columns of the user's data are; a column may be its name alone
//     format: delimited            # a text format
//     separator: ","               # one character, or tab; also: quotes, header (true, false)
//     label: {column: rating, rule: ">= 4"}
//     weight: w                    # of samples; none if left out
//     dense: [{name: age, transform: standardise, missing: 30}, price]
//     categorical: [{name: user, ids: dictionary, min_count: 2}, {name: genres, separator: "|"}]
//     ignored: [timestamp]
//     columns: [rating, ...]       # with header: false
//
// Every mistake is kUsage and says where: "configs/x.yaml:12:3: unknown key ...". Only
// yaml_config.cc includes yaml-cpp, and none of its exceptions leaves it.
// Threads: pure functions.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Sets what the file says and leaves the rest. kUsage if the file cannot be read or has a mistake.
Status ReadYamlConfig(const std::string& path, Settings* settings);

// The same for text; errors have `name` in place of the path.
Status ReadYamlText(const std::string& text, const std::string& name, Settings* settings);

// A file from which ReadYamlConfig makes the same settings, even if defaults change later.
std::string WriteYamlText(const Settings& settings);

}  // namespace rowhouse
