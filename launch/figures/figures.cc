#include "launch/figures/figures.h"

#include <algorithm>
#include <cmath>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// What people see of a table.
struct TextTable {
  struct Column {
    std::string name;
    bool is_number = false;  // right-aligned
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell for each column
};

// A line of column names, and a line for each row; columns are aligned by blanks.
std::string TextTableAsText(const TextTable& table) {
  std::vector<std::string> names;
  for (const TextTable::Column& column : table.columns) names.push_back(column.name);
  std::vector<std::vector<std::string>> lines = {names};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<size_t> widths(table.columns.size(), 0);
  for (std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) {
      line[i] = CleanText(line[i]);
      widths[i] = std::max(widths[i], CountCharacters(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool is_last = i + 1 == widths.size();
      const std::string blanks(widths[i] - CountCharacters(line[i]), ' ');
      const bool is_number = table.columns[i].is_number;
      text += is_number ? blanks + line[i] : line[i] + (is_last ? "" : blanks);
      if (!is_last) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);  // an empty last column leaves blanks
    text += "\n";
  }
  return text;
}

std::string CellText(const FigureTable::Column& column, const OrderedJson& cell) {
  if (cell.is_null() || cell.is_discarded()) return "-";
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_array()) {
    std::string text;
    for (const OrderedJson& item : cell)
      text += (text.empty() ? "" : ", ") + CellText(column, item);
    return text;
  }
  return column.text == nullptr ? DumpJson(cell) : column.text(cell.get<double>());
}

// The columns for people.
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

}  // namespace

std::string FixedText(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

OrderedJson TableAsJson(const FigureTable& table) {
  OrderedJson list = OrderedJson::array();
  for (const FigureTable::Row& row : table.rows) {
    OrderedJson object = OrderedJson::object();
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].key.empty() || row[c].is_discarded()) continue;
      object[table.columns[c].key] = row[c];
    }
    list.push_back(std::move(object));
  }
  return list;
}

std::string TableAsCsv(const FigureTable& table) {
  std::string text;
  const auto add_line = [&](const auto& field_of) {
    std::string line;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (!table.columns[c].key.empty()) line += field_of(c) + ",";
    }
    line.back() = '\n';
    text += line;
  };
  add_line([&](size_t c) { return table.columns[c].key; });
  for (const FigureTable::Row& row : table.rows) {
    add_line([&](size_t c) -> std::string {
      if (row[c].is_null() || row[c].is_discarded()) return "";
      if (row[c].is_string()) return CsvText(row[c].get<std::string>());
      return row[c].is_number_float() ? fmt::format("{}", row[c].get<double>()) : DumpJson(row[c]);
    });
  }
  return text;
}

std::string TableAsText(const FigureTable& table) {
  if (table.max_text_rows == 0) return "";
  const std::string text = TextTableAsText(TextTableOf(table, table.max_text_rows));
  if (table.rows.size() <= table.max_text_rows) return text;
  return text +
         fmt::format("and {} more{}\n", table.rows.size() - table.max_text_rows, table.others_are);
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
    text += TableAsText(std::get<FigureTable>(section));
  }
  return text;
}

OrderedJson TableAsGrid(const FigureTable& table) {
  const TextTable text = TextTableOf(table, table.max_page_rows);
  OrderedJson columns = OrderedJson::array();
  for (const TextTable::Column& column : text.columns) {
    columns.push_back({{"name", column.name}, {"number", column.is_number}});
  }
  std::string note = table.note;
  if (table.rows.size() > text.rows.size()) {
    note += fmt::format("{}the first {} of {}{}", note.empty() ? "" : "; ", text.rows.size(),
                        table.rows.size(), table.others_are);
  }
  return {
      {"title", table.title}, {"note", note}, {"columns", std::move(columns)}, {"rows", text.rows}};
}

OrderedJson FiguresAsPage(const Figures& figures) {
  OrderedJson grids = OrderedJson::array();
  for (const auto& section : figures.sections) {
    const auto* table = std::get_if<FigureTable>(&section);
    if (table != nullptr && table->max_page_rows > 0) grids.push_back(TableAsGrid(*table));
  }
  OrderedJson data = {{"title", figures.title},
                      {"subtitle", figures.subtitle},
                      {"warnings", figures.warnings},
                      {"assumptions", figures.assumptions},
                      {"grids", std::move(grids)}};
  data.update(figures.page);
  return data;
}

Status DeliverFigures(const std::string& json, const Figures& figures, int indent) {
  return DeliverFigures(json, DumpJson(figures.json, indent) + "\n", FiguresAsText(figures));
}

}  // namespace rowhouse
