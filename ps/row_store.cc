#include "ps/row_store.h"

namespace rowhouse {

Registry<RowStore, RowStoreOptions>& RowStores() {
  static Registry<RowStore, RowStoreOptions> registry("row store");
  return registry;
}

}  // namespace rowhouse
