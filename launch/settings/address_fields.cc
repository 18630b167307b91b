#include "launch/settings/address_fields.h"

#include <set>

#include "launch/hosts/network_interface.h"
#include "launch/settings/setting_kinds.h"

namespace rowhouse {
namespace {

using enum Section;
using enum Digest;

// "tcp://host:port" with a port of 1 or more, or also 0. ZeroMQ takes ports modulo 65536.
bool IsAddress(const std::string& text, uint64_t least_port) {
  const size_t colon = text.rfind(':');
  if (!text.starts_with("tcp://") || colon <= 6) return false;
  const auto port = ReadWhole(text.substr(colon + 1));
  return port && *port >= least_port && *port <= 65535;
}

}  // namespace

SettingField PsEndpointsSetting() {
  const std::string what = "addresses such as tcp://host:7001, joined by commas";
  SettingField field{.name = "ps_endpoints",
                     .section = kCluster,
                     .kind = SettingKind::kTextList,
                     .expected = what};
  field.set = [what](const std::string& text, Settings& settings) {
    std::vector<std::string> endpoints = SplitAtCommas(text);
    std::set<std::string> seen;
    for (const std::string& endpoint : endpoints) {
      if (!IsAddress(endpoint, /*least_port=*/1)) return Expected(what);
      if (!seen.insert(endpoint).second) {
        return UsageError("{} is named twice; every PS node is one of the run", endpoint);
      }
    }
    settings.cluster.ps_endpoints = std::move(endpoints);
    return OkStatus();
  };
  field.get = [](const Settings& settings) {
    return fmt::format("{}", fmt::join(settings.cluster.ps_endpoints, ","));
  };
  return field;
}

SettingField BindInterfaceSetting() {
  const std::string what =
      "a name such as eth0, a network such as 10.0.0.0/24 or an IPv4 address such as 10.0.0.1";
  SettingField field = TextField(
      "bind_interface", kCluster, kOut,
      [](Settings& s) -> std::string& { return s.cluster.bind_interface; }, what);
  field.set = [what](const std::string& text, Settings& settings) {
    if (!text.empty() && !IsInterfaceChoice(text)) return Expected(what);
    settings.cluster.bind_interface = text;
    return OkStatus();
  };
  return field;
}

SettingField ListenSetting() {
  const std::string what = "an address such as tcp://*:7001";
  SettingField field = TextField(
      "listen", kServer, kOut, [](Settings& s) -> std::string& { return s.server.listen; }, what);
  field.set = [what](const std::string& text, Settings& settings) {
    if (!IsAddress(text, /*least_port=*/0)) return Expected(what);
    settings.server.listen = text;
    return OkStatus();
  };
  return field;
}

SettingField ListenFdsSetting() {
  const std::string what = "numbers of open sockets, joined by commas";
  SettingField field{
      .name = "listen_fds", .section = kServer, .kind = SettingKind::kNumberList, .expected = what};
  field.set = [what](const std::string& text, Settings& settings) {
    std::vector<int32_t> fds;
    for (const std::string& item : SplitAtCommas(text)) {
      const auto fd = ReadInteger(item);
      if (!fd || *fd < 0 || *fd > 0x7fffffff) return Expected(what);
      fds.push_back(static_cast<int32_t>(*fd));
    }
    settings.server.listen_fds = std::move(fds);
    return OkStatus();
  };
  field.get = [](const Settings& settings) {
    return fmt::format("{}", fmt::join(settings.server.listen_fds, ","));
  };
  return field;
}

}  // namespace rowhouse
