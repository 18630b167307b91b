// "npy": row r is row r of the NumPy file InitialiserOptions::file, a matrix of exactly the table's
// rows and columns (common/npy_file.h). Values are looked at when a row is first used: one that is
// no finite f32 is the operator's mistake. The file must lie, with the same bytes, wherever rows of
// the table are kept, as long as the model is used: rows nobody touched are nowhere else. The
// manifest says which bytes; whoever opens the file compares them (initialiser.h).
#include <algorithm>
#include <cmath>

#include "common/kernels/finite.h"
#include "common/npy_file.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

class NpyInitialiser final : public Initialiser {
 public:
  static Result<std::unique_ptr<Initialiser>> Make(const InitialiserContext& context) {
    const TableSpec& table = context.table;
    if (context.file == nullptr) {
      return UsageError(
          "table \"{}\": initialiser \"npy\" needs the .npy file of {} x {} initial values",
          table.name, table.rows, table.dim);
    }
    if (context.file->rows() != table.rows || context.file->columns() != table.dim) {
      return UsageError("table \"{}\": {} holds {} rows of {} columns; {} rows of {} are needed",
                        table.name, context.file->path(), context.file->rows(),
                        context.file->columns(), table.rows, table.dim);
    }
    return std::unique_ptr<Initialiser>(new NpyInitialiser(context));
  }

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override {
    CHECK_EQ(out.size(), rows.size() * dim_);
    for (size_t i = 0; i < rows.size();) {
      // Rows that follow each other are read at once.
      size_t run = 1;
      while (i + run < rows.size() && Raw(rows[i + run]) == Raw(rows[i]) + run) ++run;
      const std::span<float> values = out.subspan(i * dim_, run * dim_);
      RETURN_IF_ERROR(
          file_->Read(Raw(rows[i]), values).Annotate(fmt::format("table \"{}\"", name_)));
      RETURN_IF_ERROR(CheckFinite(Raw(rows[i]), values));
      i += run;
    }
    return OkStatus();
  }

 private:
  explicit NpyInitialiser(const InitialiserContext& context)
      : name_(context.table.name), dim_(context.table.dim), file_(context.file) {}

  Status CheckFinite(uint64_t first_row, std::span<const float> values) const {
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [](float value) { return !std::isfinite(value); });
    if (bad == values.end()) return OkStatus();
    const auto at = static_cast<size_t>(bad - values.begin());
    return UsageError("table \"{}\": {} holds {} in row {}, column {}; finite f32 are needed",
                      name_, file_->path(), ForPeople(*bad), first_row + at / dim_, at % dim_);
  }

  const std::string name_;
  const size_t dim_;
  const std::shared_ptr<const NpyFile> file_;
};

REGISTER_MEMBER(AddInitialiser("npy", {.takes = {"init_from"}}, &NpyInitialiser::Make));

}  // namespace
}  // namespace rowhouse
