#include "launch/report/debug_print.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rowhouse {

const ArrayStyle kNumpyStyle{.prefix = "", .separator = " ", .suffix = ""};
const ArrayStyle kTorchStyle{.prefix = "tensor(", .separator = ", ", .suffix = ")"};

namespace {

constexpr uint64_t kDots = UINT64_MAX;
constexpr uint64_t kMaxElements = 1000;  // of an array that is shown whole
constexpr uint64_t kEdge = 3;
constexpr int kDataDigits = 4;  // DLRM's for mini-batches, whatever print_precision is

bool IsWhole(const ArrayShape& shape) { return shape.rows <= kMaxElements / shape.columns; }

std::vector<uint64_t> Shown(uint64_t length, bool is_whole) {
  std::vector<uint64_t> shown;
  const bool cuts = !is_whole && length > 2 * kEdge;
  for (uint64_t i = 0; i < (cuts ? kEdge : length); ++i) shown.push_back(i);
  if (!cuts) return shown;
  shown.push_back(kDots);
  for (uint64_t i = length - kEdge; i < length; ++i) shown.push_back(i);
  return shown;
}

// An empty vector has columns == 0.
std::vector<uint64_t> ShownColumns(const ArrayShape& shape) {
  return shape.columns == 0 ? std::vector<uint64_t>{} : Shown(shape.columns, IsWhole(shape));
}

// Rows in brackets, cells as wide as the widest.
std::string Layout(const ArrayShape& shape, const ArrayStyle& style,
                   const std::function<std::string(uint64_t row, uint64_t column)>& cell) {
  const std::vector<uint64_t> columns = ShownColumns(shape), rows = ShownRows(shape);
  std::vector<std::vector<std::string>> cells;  // by shown row; empty for "..."
  size_t widest = 0;
  for (const uint64_t row : rows) {
    cells.emplace_back();
    for (size_t c = 0; row != kDots && c < columns.size(); ++c) {
      const bool is_dots = columns[c] == kDots;
      cells.back().push_back(is_dots ? "..." : cell(row, columns[c]));
      if (!is_dots) widest = std::max(widest, cells.back().back().size());
    }
  }
  // torch has commas between rows, too.
  const std::string comma = style.separator == " " ? "" : ",";
  const std::string indent(style.prefix.size() + 1, ' ');
  std::string text = style.prefix + (shape.is_vector ? "" : "[");
  for (size_t r = 0; r < cells.size(); ++r) {
    if (r > 0) text += comma + "\n" + indent;
    if (rows[r] == kDots) {
      text += "...";
      continue;
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c] != kDots) cells[r][c].insert(0, widest - cells[r][c].size(), ' ');
    }
    text += fmt::format("[{}]", fmt::join(cells[r], style.separator));
  }
  return text + (shape.is_vector ? "" : "]") + style.suffix;
}

std::string WholeVectorText(const std::vector<uint64_t>& values, const ArrayStyle& style) {
  return WholeArrayText({.rows = 1, .columns = values.size(), .is_vector = true}, style,
                        [&](uint64_t, uint64_t column) { return values[column]; });
}

std::vector<uint64_t> WithInput(uint64_t input, const std::vector<uint32_t>& widths) {
  std::vector<uint64_t> all = {input};
  all.insert(all.end(), widths.begin(), widths.end());
  return all;
}

}  // namespace

std::vector<uint64_t> ShownRows(const ArrayShape& shape) {
  return Shown(shape.rows, shape.columns == 0 || IsWhole(shape));
}

std::string ArrayText(const ArrayShape& shape, const ArrayStyle& style, int precision,
                      const std::function<double(uint64_t row, uint64_t column)>& at) {
  bool are_whole = true;
  double least = HUGE_VAL, most = 0.0;  // sizes of those that are not 0
  for (const uint64_t row : ShownRows(shape)) {
    for (const uint64_t column : ShownColumns(shape)) {
      if (row == kDots || column == kDots) continue;
      const double value = at(row, column), size = std::fabs(value);
      are_whole = are_whole && std::isfinite(value) && value == std::trunc(value);
      if (size == 0.0 || !std::isfinite(size)) continue;
      least = std::min(least, size);
      most = std::max(most, size);
    }
  }
  const bool has_exponents = most >= 1e8 || least < 1e-4 || most > 1000.0 * least;
  return Layout(shape, style, [&](uint64_t row, uint64_t column) {
    const double value = at(row, column);
    if (has_exponents) return fmt::format("{:.{}e}", value, precision);
    if (are_whole) return fmt::format("{:.0f}.", value);
    return fmt::format("{:.{}f}", value, precision);
  });
}

std::string WholeArrayText(const ArrayShape& shape, const ArrayStyle& style,
                           const std::function<uint64_t(uint64_t row, uint64_t column)>& at) {
  return Layout(shape, style,
                [&](uint64_t row, uint64_t column) { return fmt::format("{}", at(row, column)); });
}

std::string ModelArchText(const Settings& settings) {
  const ModelSpec& model = settings.model;
  const uint64_t interactions = model.interaction_width();
  std::vector<uint64_t> rows;
  for (const TableSpec& table : settings.tables) rows.push_back(table.rows);
  const auto numbers = [](const std::vector<uint64_t>& values) {
    return WholeVectorText(values, kNumpyStyle);
  };
  return fmt::format(
      "model arch:\n"
      "mlp top arch {} layers, with input to output dimensions:\n{}\n"
      "# of interactions\n{}\n"
      "mlp bot arch {} layers, with input to output dimensions:\n{}\n"
      "# of features (sparse and dense)\n{}\n"
      "dense feature size\n{}\n"
      "sparse feature size\n{}\n"
      "# of embeddings (= # of sparse features) {}, with dimensions {}x:\n{}\n",
      model.top_mlp.size(), numbers(WithInput(interactions, model.top_mlp)), interactions,
      model.bottom_mlp.size() - 1, numbers({model.bottom_mlp.begin(), model.bottom_mlp.end()}),
      model.features() + 1, model.bottom_mlp.front(), settings.sparse_feature_size, rows.size(),
      settings.sparse_feature_size, numbers(rows));
}

std::string BatchText(uint64_t number, const Batch& batch) {
  const std::string dense = ArrayText({.rows = batch.samples, .columns = batch.dense_features},
                                      kTorchStyle, kDataDigits, [&](uint64_t row, uint64_t column) {
                                        return batch.dense[row * batch.dense_features + column];
                                      });
  ArrayStyle int32_style = kTorchStyle;
  int32_style.suffix = ", dtype=torch.int32)";
  const std::string lengths =
      WholeArrayText({.rows = batch.features.size(), .columns = batch.samples}, int32_style,
                     [&](uint64_t feature, uint64_t sample) {
                       const std::vector<uint32_t>& offsets = batch.features[feature].offsets;
                       return offsets[sample + 1] - offsets[sample];
                     });
  std::vector<std::string> ids;
  for (const Bags& bags : batch.features) ids.push_back(WholeVectorText(bags.ids, kTorchStyle));
  const std::string labels =
      ArrayText({.rows = batch.samples, .columns = 1}, kTorchStyle, kDataDigits,
                [&](uint64_t row, uint64_t) { return batch.labels[row]; });
  return fmt::format("mini-batch: {}\n{}\n{}\n[{}]\n{}\n", number, dense, lengths,
                     fmt::join(ids, ", "), labels);
}

Status PrintData(uint64_t steps, uint64_t mini_batch_size, Dataset& data) {
  fmt::print("data (inputs and targets):\n");
  Batch batch;
  for (uint64_t step = 0; step < steps; ++step) {
    const uint64_t first = step * mini_batch_size;
    RETURN_IF_ERROR(
        data.ReadTrain(0, first, std::min(mini_batch_size, data.train_samples() - first), &batch));
    fmt::print("{}", BatchText(step, batch));
  }
  std::fflush(stdout);
  return OkStatus();
}

Status PrintParameters(std::string_view title, uint64_t steps, int precision,
                       const std::vector<TableSpec>& tables, DenseParameters& dense,
                       PsClient& client, Dialer& dialer, const Clock& clock) {
  std::vector<RowBatch> batches;
  for (const TableSpec& table : tables) {
    RowBatch batch{.table = table.id, .dim = table.dim};
    for (const uint64_t row : ShownRows({.rows = table.rows, .columns = table.dim})) {
      if (row != kDots) batch.rows.push_back(RowId{row});
    }
    batch.counts.assign(batch.rows.size(), 1);
    batch.values.resize(batch.rows.size() * table.dim);
    batches.push_back(std::move(batch));
  }
  client.StartPull(steps, /*eval=*/true, &batches);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));

  fmt::print("{}\n", title);
  for (size_t k = 0; k < tables.size(); ++k) {
    const RowBatch& batch = batches[k];
    const auto at = [&](uint64_t row, uint64_t column) {
      const auto found = std::lower_bound(batch.rows.begin(), batch.rows.end(), RowId{row});
      const auto place = static_cast<size_t>(found - batch.rows.begin());
      return batch.values[place * batch.dim + column];
    };
    fmt::print("{}\n", ArrayText({.rows = tables[k].rows, .columns = tables[k].dim}, kNumpyStyle,
                                 precision, at));
  }
  for (size_t b = 0; b < dense.blocks().size(); ++b) {
    const DenseParameters::Block& block = dense.blocks()[b];
    const std::span<const float> values = dense.values(b);
    const bool is_vector = block.name.find("bias") != std::string::npos;
    const ArrayShape shape =
        is_vector ? ArrayShape{1, block.rows, true} : ArrayShape{block.rows, block.columns, false};
    fmt::print("{}\n", ArrayText(shape, kNumpyStyle, precision, [&](uint64_t row, uint64_t column) {
                 return values[row * shape.columns + column];
               }));
  }
  std::fflush(stdout);
  return OkStatus();
}

}  // namespace rowhouse
