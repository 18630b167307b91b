#include "worker/dataset.h"

namespace rowhouse {

Registry<Dataset, DatasetOptions>& Datasets() {
  static Registry<Dataset, DatasetOptions> registry("data source");
  return registry;
}

}  // namespace rowhouse
