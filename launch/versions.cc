#include "launch/versions.h"

namespace rowhouse {

std::vector<std::pair<std::string, std::string>> Versions() {
  return {{"rowhouse", ROWHOUSE_VERSION},
          {"RocksDB", ROWHOUSE_ROCKSDB_VERSION},
          {"oneDNN", ROWHOUSE_DNNL_VERSION},
          {"ZeroMQ", ROWHOUSE_ZMQ_VERSION},
          {"compiler", __VERSION__}};
}

}  // namespace rowhouse
