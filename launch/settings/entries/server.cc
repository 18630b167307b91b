// Settings of `rowhouse ps` alone: no YAML file has them.
#include "launch/hosts/host_facts.h"
#include "launch/settings/setting_list.h"

namespace rowhouse {
namespace {

SettingField ListenAddress() {
  const std::string what = "an address such as tcp://*:7001";
  SettingField field = Text(MEMBER(server.listen), what);
  field.set = [what](const std::string& text, Settings& settings) {
    if (!IsTcpAddress(text, /*min_port=*/0)) return Expected(what);
    settings.server.listen = text;
    return OkStatus();
  };
  return field;
}

void AddServer(SettingList& list) {
  const Value<std::vector<int32_t>> sockets =
      ListValue("numbers of open sockets, joined by commas", WholeValue<int32_t>(0), ',',
                /*may_be_empty=*/true);
  list.Add(ListenAddress(), {.name = "listen",
                             .help = "Address at which workers reach this PS node; port 0: any "
                                     "free port"});
  list.Add(Text(MEMBER(server.read_dirs), "directories, joined by commas"),
           {.name = "read_dirs",
            .help = "Directories from which this node may read what a job names, besides its "
                    "--row_dir: rows that were saved elsewhere (--load), files of initial values"});
  list.Add(
      Whole(MEMBER(server.supervisor_fd), -1),
      {.name = "supervisor_fd", .help = "Internal: a pipe that ends when the supervisor does"});
  list.Add(Held(MEMBER(server.listen_fds), sockets),
           {.name = "listen_fds", .help = "Internal: sockets inherited from the supervisor"});
}

REGISTER_MEMBER(RegisterSettings(Section::kServer, {AddServer}));

}  // namespace
}  // namespace rowhouse
