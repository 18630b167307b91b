#include "sharding/cost/gpu/fully_connected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/read_value.h"

namespace rowhouse {
namespace {

constexpr uint64_t kInfinite = std::numeric_limits<uint64_t>::max();

// A neighbour of a size, and its weight; exact sizes have one neighbour.
struct Neighbour {
  uint64_t value = 0;
  double weight = 1;
};

std::vector<Neighbour> NeighboursOf(uint64_t size, const std::vector<uint64_t>& values,
                                    bool is_original) {
  const auto above = std::lower_bound(values.begin(), values.end(), size);
  if (above != values.end() && *above == size) return {{size, 1}};
  if (above == values.begin()) return {{0, 0.5}, {*above, 0.5}};
  const uint64_t low = *(above - 1);
  if (above == values.end()) return {{low, 0.5}, {kInfinite, 0.5}};
  const double distance = static_cast<double>(size - low) / static_cast<double>(*above - low);
  if (is_original) return {{low, distance}, {*above, 1 - distance}};
  return {{low, 1 - distance}, {*above, distance}};
}

// A corner of the cell that a product lies in. The notebook weighs it by the mean of the weights of
// its sides; their product interpolates.
struct Corner {
  std::array<uint64_t, 4> sizes{};
  double sum_of_weights = 0;  // of sides with two neighbours
  double product_of_weights = 1;
};

std::vector<Corner> CornersOf(const std::array<std::vector<Neighbour>, 4>& near) {
  std::vector<Corner> corners(1);
  for (size_t i = 0; i < near.size(); ++i) {
    std::vector<Corner> longer;
    for (const Corner& corner : corners) {
      for (const Neighbour& neighbour : near[i]) {
        longer.push_back(corner);
        longer.back().sizes[i] = neighbour.value;
        longer.back().product_of_weights *= neighbour.weight;
        if (near[i].size() > 1) longer.back().sum_of_weights += neighbour.weight;
      }
    }
    corners = std::move(longer);
  }
  return corners;
}

// Fields of a line; a field in double quotes may hold commas.
std::vector<std::string> FieldsOf(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

constexpr std::array<std::string_view, 6> kColumns = {"batch_size",    "M", "N", "K", "kernel_name",
                                                      "kernel_runtime"};

// Where each of kColumns stands.
using Columns = std::array<size_t, 6>;

Result<Columns> ColumnsOf(std::string_view head, const std::string& place) {
  const std::vector<std::string> names = FieldsOf(head);
  Columns columns{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kColumns[i]);
    if (found == names.end()) {
      return UsageError(
          "{}: no column {}; the first line names the columns batch_size, M, N, K, kernel_name, "
          "kernel_runtime",
          place, kColumns[i]);
    }
    columns[i] = static_cast<size_t>(found - names.begin());
  }
  return columns;
}

struct Line {
  GpuProduct product;
  std::string kernel;
  double us = 0;
};

Result<Line> LineOf(std::string_view text, const Columns& columns, const std::string& place) {
  const std::vector<std::string> fields = FieldsOf(text);
  const auto field = [&](size_t i) {
    return columns[i] < fields.size() ? fields[columns[i]] : std::string();
  };
  Line line;
  const std::array<uint64_t*, 4> sizes = {&line.product.batch, &line.product.m, &line.product.n,
                                          &line.product.k};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto value = ReadWhole(field(i));
    if (!value || *value == 0) {
      return UsageError("{}: {} is \"{}\", expected a whole number of 1 or more", place,
                        kColumns[i], field(i));
    }
    *sizes[i] = *value;
  }
  line.kernel = field(4);
  const auto us = ReadReal(field(5));
  if (!us || !(*us > 0)) {
    return UsageError("{}: kernel_runtime is \"{}\", expected microseconds above 0", place,
                      field(5));
  }
  line.us = *us;
  return line;
}

}  // namespace

double GpuProduct::multiply_adds() const {
  return static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

double GpuProduct::bytes() const {
  const auto [rows, columns, inner] =
      std::array{static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
  return 4 * static_cast<double>(batch) * (rows * inner + inner * columns + rows * columns);
}

double RooflineUs(const GpuModel& gpu, const GpuProduct& product) {
  return std::max(product.multiply_adds() / gpu.gflops, product.bytes() / gpu.dram_gbs) / 1000;
}

Result<MeasuredProducts> MeasuredProducts::Make(const std::vector<Measured>& measured) {
  if (measured.empty()) return UsageError("no matrix product was measured");
  MeasuredProducts table;
  std::map<Sizes, uint64_t> counts;
  for (const Measured& one : measured) {
    const Sizes sizes = {one.product.batch, one.product.m, one.product.n, one.product.k};
    if (!(one.us > 0) || !std::isfinite(one.us) ||
        std::min({sizes[0], sizes[1], sizes[2], sizes[3]}) == 0) {
      return UsageError("the product {} x {} x {} x {} has a time of {} us", sizes[0], sizes[1],
                        sizes[2], sizes[3], one.us);
    }
    const auto count = static_cast<double>(counts[sizes]++);
    double& mean = table.us_[sizes];
    mean = (mean * count + one.us) / (count + 1);
  }
  for (const auto& [sizes, us] : table.us_) {
    for (size_t i = 0; i < sizes.size(); ++i) table.values_[i].push_back(sizes[i]);
  }
  for (std::vector<uint64_t>& values : table.values_) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return table;
}

Result<MeasuredProducts> MeasuredProducts::FromCsv(std::string_view csv, const std::string& name,
                                                   const std::string& kernel_prefix) {
  std::vector<Measured> measured;
  std::optional<Columns> columns;
  size_t number = 0, others = 0;
  while (!csv.empty()) {
    const size_t end = std::min(csv.find('\n'), csv.size());
    const std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    const std::string place = fmt::format("{}:{}", name, ++number);
    if (line.empty() || line == "\r") continue;
    if (!columns) {
      ASSIGN_OR_RETURN(columns, ColumnsOf(line, place));
      continue;
    }
    ASSIGN_OR_RETURN(const Line read, LineOf(line, *columns, place));
    if (!read.kernel.starts_with(kernel_prefix)) {
      ++others;
      continue;
    }
    measured.push_back({.product = read.product, .us = read.us});
  }
  if (!columns) return UsageError("{}: empty; expected a CSV of measured matrix products", name);
  if (measured.empty()) {
    return UsageError(
        "{}: no kernel_name begins with \"{}\" ({} lines have others); say --kernel_prefix=P", name,
        kernel_prefix, others);
  }
  return Make(measured);
}

double MeasuredProducts::PredictUs(const GpuModel& gpu, const GpuProduct& product,
                                   GpuForm form) const {
  const Sizes asked = {product.batch, product.m, product.n, product.k};
  if (const auto found = us_.find(asked); found != us_.end()) return found->second;
  std::array<std::vector<Neighbour>, 4> near;
  int unmatched = 0;
  for (size_t i = 0; i < 4; ++i) {
    near[i] = NeighboursOf(asked[i], values_[i], form == GpuForm::kOriginal);
    unmatched += near[i].size() > 1;
  }
  double gflops = 0, gbs = 0, weights = 0;
  for (const Corner& corner : CornersOf(near)) {
    const double weight = form == GpuForm::kCorrected
                              ? corner.product_of_weights
                              : corner.sum_of_weights / unmatched / (1 << (unmatched - 1));
    const auto& [batch, m, n, k] = corner.sizes;
    const auto known = us_.find(corner.sizes);
    if (std::min({batch, m, n, k}) == 0) {
      weights += weight;  // and achieves nothing
    } else if (std::max({batch, m, n, k}) == kInfinite) {
      weights += weight;
      gflops += weight * gpu.gflops;
      gbs += weight * gpu.dram_gbs;
    } else if (known != us_.end()) {
      const GpuProduct measured = {batch, m, n, k};
      weights += weight;
      gflops += weight * measured.multiply_adds() / known->second / 1000;
      gbs += weight * measured.bytes() / known->second / 1000;
    }
  }
  // Corners that nobody measured are left out. Where none is left the peaks are all that is known.
  if (!(gflops > 0)) return RooflineUs(gpu, product);
  gflops /= weights;
  gbs /= weights;
  return std::max(product.multiply_adds() / gflops, product.bytes() / gbs) / 1000;
}

}  // namespace rowhouse
