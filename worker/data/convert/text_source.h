// Text formats as data sources: what is read is first made a data directory
// (worker/data/convert/converter.h), and trained from there.
#pragma once

#include <string>

#include "worker/data/dataset.h"

namespace rowhouse {

// Registers the text format `name` as a data source, too; its declaration is completed. Options as
// of PrepareText and MakeConvertedDataset. Where options.prepared is empty, the source makes data
// directories of `file` and test_file (prepared_text.h).
bool AddTextDataset(const std::string& name, DatasetDeclaration declaration = {});

}  // namespace rowhouse
