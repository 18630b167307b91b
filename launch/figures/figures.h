// Figures holds the results of a verb; it is rendered as terminal text (FiguresAsText), as JSON
// (Figures::json) and as page data (FiguresAsPage).
//
// Threads: plain data.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// How people read a number: CountText, BytesText, PercentText (figure_text.h) and the like.
using NumberText = std::string (*)(double);

// "0.123": with N digits after the point; "-" for a NaN or infinity.
template <int N>
std::string FixedText(double value);

// JSON omits this cell; text, CSV and pages treat it as null.
inline const auto kNoCell = nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded);

// A table: its columns say how a cell reads in each form. A cell is a string, a number, a bool, a
// list of strings, or null for what is not known: "-" to people.
struct FigureTable {
  struct Column {
    std::string key = {};       // in JSON and CSV; "": for people alone
    std::string title = {};     // for people; "": for JSON and CSV alone
    NumberText text = nullptr;  // of numbers; cells are then right-aligned. Null: as in JSON
  };
  using Row = std::vector<nlohmann::ordered_json>;  // one cell for each column

  std::string key = {};    // of its list of objects in JSON; "": for people alone
  std::string title = {};  // its heading on a page
  std::string note = {};   // a sentence below the heading of a page; "": none
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  // Row limits. Text: a last line counts the omitted rows and appends others_are. Page: the note
  // does. 0: the table is left out of that form.
  size_t max_text_rows = SIZE_MAX;
  size_t max_page_rows = 200;
  std::string others_are = "; --json has all";
};

// The columns for people of its first max_text_rows rows, and the line for the others.
std::string TableAsText(const FigureTable& table);
// A list of objects, a row each: the columns with a key.
nlohmann::ordered_json TableAsJson(const FigureTable& table);
// The same as RFC 4180 with \n, keys first. Numbers have as many digits as it takes to read them
// back; null is "".
std::string TableAsCsv(const FigureTable& table);

// What a page draws: {title, note, columns: [{name, number}], rows: [[text]]}.
nlohmann::ordered_json TableAsGrid(const FigureTable& table);

struct Figures {
  std::string title = {};                                             // of the page
  std::string subtitle = {};                                          // of the page
  std::vector<std::pair<std::string, std::string>> assumptions = {};  // of the page: name, value
  std::vector<std::string> warnings = {};                             // a line each, first
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  // Other members of the page's data, such as curves (launch/plan/lab_page.h).
  nlohmann::ordered_json page = nlohmann::ordered_json::object();

  // Adds text for a terminal; no newline is added.
  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) {
    Append(fmt::format(format, std::forward<Args>(args)...));
  }
  void Append(std::string text) { sections.emplace_back(std::move(text)); }
  // A line "name:" and, in one column for all of them, the value.
  void Line(const std::string& name, const std::string& value) { Say("{:<34}{}\n", name, value); }
  // The table comes after everything added so far; a non-empty key also adds it to `json`.
  void Add(FigureTable table);

  std::vector<std::variant<std::string, FigureTable>> sections = {};
};

// Warnings, what was said, and tables, in order.
std::string FiguresAsText(const Figures& figures);

// {title, subtitle, warnings, assumptions, grids: [TableAsGrid()]} and the members of `page`: data
// of a page of the kind "lab".
nlohmann::ordered_json FiguresAsPage(const Figures& figures);

// Prints or writes them as --json asks (json_output.h); `indent` is that of the JSON.
Status DeliverFigures(const std::string& json, const Figures& figures, int indent = 2);

// ---- Implementation -----------------------------------------------------------------------------

std::string FixedText(double value, int digits);
template <int N>
std::string FixedText(double value) {
  return FixedText(value, N);
}

}  // namespace rowhouse
