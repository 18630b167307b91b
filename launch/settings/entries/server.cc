// Settings of `rowhouse ps` alone: no YAML file has them.
#include "launch/hosts/host_facts.h"
#include "launch/settings/setting_list.h"

namespace rowhouse {
namespace {

void AddServer(SettingList& list) {
  const Value<std::string> address =
      TextValue("an address such as tcp://*:7001",
                [](const std::string& text) { return IsTcpAddress(text, /*min_port=*/0); });
  const Value<std::vector<int32_t>> sockets =
      ListValue("numbers of open sockets, joined by commas", WholeValue<int32_t>(0), ',',
                /*may_be_empty=*/true);
  list.Add(Held(MEMBER(server.listen), address),
           {.help = "Address at which workers reach this PS node; port 0: any "
                    "free port"});
  list.Add(Text(MEMBER(server.read_dirs), "directories, joined by commas"),
           {.help = "Directories from which this node may read what a job names, besides its "
                    "--row_dir: rows that were saved elsewhere (--load), files of initial values"});
  list.Add(Whole(MEMBER(server.supervisor_fd), -1),
           {.help = "Internal: a socket that ends when the supervisor does"});
  list.Add(Held(MEMBER(server.listen_fds), sockets),
           {.help = "Internal: sockets inherited from the supervisor"});
}

REGISTER_MEMBER(RegisterSettings(Section::kServer, {AddServer}));

}  // namespace
}  // namespace rowhouse
