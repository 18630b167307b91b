#include "ps/row_store.h"

namespace rowhouse {

Registry<RowStore, RowStoreOptions>& RowStores() {
  static Registry<RowStore, RowStoreOptions> registry("row store");
  return registry;
}

Status WrongRecordSize(const StoreSlice& slice, RowId row, size_t found_bytes,
                       std::string_view where) {
  return CorruptionError("{}: table {} row {} column {}: a record of {} bytes where {} are due",
                         where, Raw(slice.table), Raw(row), slice.first_column, found_bytes,
                         slice.record_bytes);
}

}  // namespace rowhouse
