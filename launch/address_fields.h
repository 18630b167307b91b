// Makers of SettingFields that say where PS nodes are and listen. Only launch/setting_fields.cc
// needs them.
#pragma once

#include "launch/setting_fields.h"

namespace rowhouse {

SettingField PsEndpointsSetting();
SettingField BindInterfaceSetting();
SettingField ListenSetting();
SettingField ListenFdsSetting();

}  // namespace rowhouse
