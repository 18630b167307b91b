// The YAML file of --config: the model, its tables, the data and how to train; see configs/.
//
//   model, data, training, storage, cluster, output: keys are setting names
//   (launch/settings/setting_fields.h),
//           which are the flags' names; lists may be written [13, 512, 16] or 13-512-16.
//   tables: defaults: {kind, optimizer, dim, pooling, ...}: what launch/settings/table_fields.h
//   lists, and
//                     the options of the kind (sharding/tables/kinds/)
//           then either  rows: [1460, 583]  with  names: [C1, C2]  (without: t0, t1, ...)
//           or           list: [{name: user, rows: 1000000, optimizer: sgd}, ...]
//
// Every mistake is kUsage and says where: "configs/x.yaml:12:3: unknown key ...". This is the only
// file that includes yaml-cpp, and none of its exceptions leaves it.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Sets what the file says; anything else stays as it is.
Status ReadYamlConfig(const std::string& path, Settings* settings);

// The same for text; `name` stands for the path in errors.
Status ReadYamlText(const std::string& text, const std::string& name, Settings* settings);

// A file from which ReadYamlConfig makes these settings, whatever the defaults are by then.
std::string WriteYamlText(const Settings& settings);

}  // namespace rowhouse
