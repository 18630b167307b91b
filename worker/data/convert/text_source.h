// Text formats as data sources: what is read is first made a data directory
// (worker/data/convert/converter.h), and trained from there.
#pragma once

#include <string>

#include "worker/data/dataset.h"

namespace rowhouse {

// Registers the text format `name` as a data source, too; its declaration is completed. Options as
// of PrepareText and MakeConvertedDataset. Where options.prepared (or prepared_test) is empty, the
// source makes a data directory of `file` (of test_file) in the directory of temporary files, which
// is removed with it. `adjust`, if not null, changes the options first.
bool AddTextDataset(const std::string& name, DatasetDeclaration declaration = {},
                    void (*adjust)(DatasetOptions* options) = nullptr);

}  // namespace rowhouse
