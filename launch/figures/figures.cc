#include "launch/figures/figures.h"

#include <algorithm>
#include <cmath>

#include "common/json_text.h"
#include "launch/figures/json_output.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string CellText(const FigureTable::Column& column, const OrderedJson& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_array()) {
    std::string text;
    for (const OrderedJson& item : cell)
      text += (text.empty() ? "" : ", ") + CellText(column, item);
    return text;
  }
  return column.text == nullptr ? cell.dump() : column.text(cell.get<double>());
}

}  // namespace

std::string FixedText(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

TextTable TextTableOf(const FigureTable& table, size_t max_rows) {
  TextTable text;
  for (const FigureTable::Column& column : table.columns) {
    if (column.title.empty()) continue;
    text.columns.push_back({.name = column.title, .is_number = column.text != nullptr});
  }
  for (size_t r = 0; r < std::min(max_rows, table.rows.size()); ++r) {
    std::vector<std::string>& row = text.rows.emplace_back();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].title.empty()) continue;
      row.push_back(CellText(table.columns[c], table.rows[r][c]));
    }
  }
  return text;
}

OrderedJson TableAsJson(const FigureTable& table) {
  OrderedJson list = OrderedJson::array();
  for (const std::vector<OrderedJson>& row : table.rows) {
    OrderedJson object = OrderedJson::object();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (!table.columns[c].key.empty()) object[table.columns[c].key] = row[c];
    }
    list.push_back(std::move(object));
  }
  return list;
}

void Figures::Add(FigureTable table) {
  if (!table.key.empty()) json[table.key] = TableAsJson(table);
  sections.emplace_back(std::move(table));
}

std::string FiguresAsText(const Figures& figures) {
  std::string text;
  for (const std::string& warning : figures.warnings) text += "note: " + warning + "\n";
  for (const auto& section : figures.sections) {
    if (const auto* said = std::get_if<std::string>(&section)) {
      text += *said;
      continue;
    }
    const FigureTable& table = std::get<FigureTable>(section);
    text += TableAsText(TextTableOf(table, table.max_text_rows));
    if (table.rows.size() > table.max_text_rows) {
      text += fmt::format("and {} more; --json has all\n", table.rows.size() - table.max_text_rows);
    }
  }
  return text;
}

OrderedJson FiguresAsPage(const Figures& figures) {
  OrderedJson grids = OrderedJson::array();
  for (const auto& section : figures.sections) {
    const auto* table = std::get_if<FigureTable>(&section);
    if (table == nullptr) continue;
    const TextTable text = TextTableOf(*table, table->max_page_rows);
    OrderedJson columns = OrderedJson::array();
    for (const TextTable::Column& column : text.columns) {
      columns.push_back({{"name", column.name}, {"number", column.is_number}});
    }
    std::string note = table->note;
    if (table->rows.size() > text.rows.size()) {
      note += fmt::format("{}the first {} of {}; --json has all", note.empty() ? "" : "; ",
                          text.rows.size(), table->rows.size());
    }
    grids.push_back({{"title", table->title},
                     {"note", note},
                     {"columns", std::move(columns)},
                     {"rows", text.rows}});
  }
  return {{"title", figures.title},
          {"subtitle", figures.subtitle},
          {"warnings", figures.warnings},
          {"assumptions", figures.assumptions},
          {"grids", std::move(grids)}};
}

Status DeliverFigures(const std::string& json, const Figures& figures, int indent) {
  return DeliverFigures(json, DumpJson(figures.json, indent) + "\n", FiguresAsText(figures));
}

}  // namespace rowhouse
