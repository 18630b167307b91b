#include "launch/version.h"

#include <dnnl.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <rocksdb/version.h>
#include <xxhash.h>
#include <zmq.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace rowhouse {
namespace {

// "Open MPI v4.1.4, package: Debian OpenMPI, ident: ..." up to the first comma.
std::string MpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int size = 0;
  if (MPI_Get_library_version(text, &size) != MPI_SUCCESS) return "MPI";  // Asked before MPI_Init.
  const std::string_view all(text, static_cast<size_t>(size));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

std::string ZeroMqVersion() {
  int major = 0, minor = 0, patch = 0;
  zmq_version(&major, &minor, &patch);
  return fmt::format("ZeroMQ {}.{}.{}", major, minor, patch);
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

// 801 is 0.8.1, 90100 is 9.1.0.
std::string FromNumber(unsigned number, unsigned step) {
  return fmt::format("{}.{}.{}", number / step / step, number / step % step, number % step);
}

}  // namespace

std::string VersionText() {
  const std::string_view commit = kCommit;
  const std::vector<std::string> libraries = {
      "RocksDB " + rocksdb::GetRocksVersionAsString(),
      ZeroMqVersion(),
      MpiVersion(),
      OneDnnVersion(),
      "yaml-cpp " ROWHOUSE_YAML_CPP_VERSION,
      "gflags " ROWHOUSE_GFLAGS_VERSION,
      "glog " ROWHOUSE_GLOG_VERSION,
      "fmt " + FromNumber(FMT_VERSION, 100),
      "xxHash " + FromNumber(XXH_versionNumber(), 100),
      "nlohmann_json " +
          FromNumber(NLOHMANN_JSON_VERSION_MAJOR * 10000 + NLOHMANN_JSON_VERSION_MINOR * 100 +
                         NLOHMANN_JSON_VERSION_PATCH,
                     100),
  };
  return fmt::format("rowhouse {} ({}), {} build by {}\nwith {}\n", ROWHOUSE_VERSION,
                     commit.empty() ? "commit unknown" : fmt::format("commit {}", commit),
                     ROWHOUSE_BUILD_TYPE, ROWHOUSE_COMPILER, fmt::join(libraries, ", "));
}

}  // namespace rowhouse
