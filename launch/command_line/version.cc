#include "launch/command_line/version.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <rocksdb/version.h>
#include <xxhash.h>
#include <zmq.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace rowhouse {
namespace {

// "v4.1.4" of "Open MPI v4.1.4, package: Debian OpenMPI, ident: ...".
std::string MpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int size = 0;
  if (MPI_Get_library_version(text, &size) != MPI_SUCCESS) return "";  // Asked before MPI_Init.
  std::string_view all(text, static_cast<size_t>(size));
  all = all.substr(0, all.find_first_of(",\n"));
  constexpr std::string_view kName = "Open MPI ";
  if (all.starts_with(kName)) all.remove_prefix(kName.size());
  return std::string(all);
}

std::string ZeroMqVersion() {
  int major = 0, minor = 0, patch = 0;
  zmq_version(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

// 801 is 0.8.1, 90100 is 9.1.0.
std::string FromNumber(unsigned number, unsigned step) {
  return fmt::format("{}.{}.{}", number / step / step, number / step % step, number % step);
}

std::string Commit() {
  const std::string_view commit = kCommit;
  return commit.empty() ? "commit unknown" : fmt::format("commit {}", commit);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Versions() {
  return {{"rowhouse",
           fmt::format("{} ({}), {} build", ROWHOUSE_VERSION, Commit(), ROWHOUSE_BUILD_TYPE)},
          {"compiler", ROWHOUSE_COMPILER},
          {"RocksDB", rocksdb::GetRocksVersionAsString()},
          {"ZeroMQ", ZeroMqVersion()},
          {"Open MPI", MpiVersion()},
          {"oneDNN", OneDnnVersion()},
          {"yaml-cpp", ROWHOUSE_YAML_CPP_VERSION},
          {"gflags", ROWHOUSE_GFLAGS_VERSION},
          {"glog", ROWHOUSE_GLOG_VERSION},
          {"fmt", FromNumber(FMT_VERSION, 100)},
          {"xxHash", FromNumber(XXH_versionNumber(), 100)},
          {"nlohmann_json",
           FromNumber(NLOHMANN_JSON_VERSION_MAJOR * 10000 + NLOHMANN_JSON_VERSION_MINOR * 100 +
                          NLOHMANN_JSON_VERSION_PATCH,
                      100)}};
}

std::string VersionText() {
  const auto versions = Versions();
  std::string libraries;
  for (size_t i = 2; i < versions.size(); ++i) {
    libraries += fmt::format("{}{} {}", i == 2 ? "" : ", ", versions[i].first, versions[i].second);
  }
  return fmt::format("rowhouse {} by {}\nwith {}\n", versions[0].second, versions[1].second,
                     libraries);
}

}  // namespace rowhouse
