// Makers of SettingFields that say something of every table: of the defaults, and of the tables
// that are there. What YAML says of one table afterwards wins (launch/settings/table_fields.h).
// Only launch/settings/setting_fields.cc needs them.
#pragma once

#include <string_view>

#include "launch/settings/setting_fields.h"

namespace rowhouse {

SettingField DimSetting();   // arch_sparse_feature_size
SettingField SeedSetting();  // numpy_rand_seed
SettingField OptimizerSetting();
// `name`: as FindOptimizerOption() takes it (launch/settings/optimizer_fields.h).
SettingField OptimizerOptionSetting(std::string_view name);
SettingField InitialiserSetting();
SettingField WeightedPoolingSetting();

}  // namespace rowhouse
