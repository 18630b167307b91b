// A store in memory, for rows on their way from one place to another. Threads: as RowStore.
#pragma once

#include <memory>

#include "ps/store/row_store.h"

namespace rowhouse {

// An empty one.
std::unique_ptr<RowStore> NewMemoryStore();

}  // namespace rowhouse
