#include "worker/data/dataset.h"

namespace rowhouse {

std::string DatasetOptions::Describe(size_t table) const {
  if (table >= table_names.size()) return fmt::format("table {}", table);
  return fmt::format("table {} \"{}\"", table, table_names[table]);
}

Registry<Dataset, DatasetOptions>& Datasets() {
  static Registry<Dataset, DatasetOptions> registry("data source");
  return registry;
}

}  // namespace rowhouse
