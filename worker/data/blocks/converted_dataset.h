// A Dataset over a data directory: what all sources that read files train from.
//
// Reads shape, seed, held_out, randomize, and schema and prepared_test of text. Split and order:
// worker/data/blocks/sample_order.h. Samples of the next step are read on a thread beside the step.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// Test samples are those of the data directory options.text.prepared_test, all of them; if that is
// empty, the part of `directory` that test_split says. kUsage if one of the two does not fit the
// model, and as DataDirectory::Open. `kept` lives as long as the dataset: what removes its files.
Result<std::unique_ptr<Dataset>> MakeConvertedDataset(const std::string& directory,
                                                      const DatasetOptions& options,
                                                      std::shared_ptr<const void> kept = nullptr);

// Why data that are read have no test samples; "": they have some (DatasetDeclaration).
std::string WhyNothingIsHeldOut(const DatasetOptions& options);

// Whether the columns are those of the model: as many dense ones as the model takes, with the names
// and in the order of `schema`, if it has any; as many categorical ones as there are tables, with
// the tables' names, and ids below their rows. If so, returns for each table the number of its
// column. Names do not count if the tables have those that they get without a section tables: t0,
// t1, ... kUsage, naming `path` and what differs.
Result<std::vector<size_t>> FitColumns(const std::string& path, const DataColumns& columns,
                                       const InputShape& shape, const Schema& schema);

}  // namespace rowhouse
