// Makers of SettingFields that say where PS nodes are and listen. Only
// launch/settings/setting_fields.cc needs them.
#pragma once

#include "launch/settings/setting_fields.h"

namespace rowhouse {

SettingField PsEndpointsSetting();
SettingField BindInterfaceSetting();
SettingField ListenSetting();
SettingField ListenFdsSetting();

}  // namespace rowhouse
