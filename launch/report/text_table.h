// TextTable: rows and columns for a terminal. Threads: plain data.
#pragma once

#include <string>
#include <vector>

namespace rowhouse {

struct TextTable {
  struct Column {
    std::string name;
    bool is_number = false;  // right-aligned
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells each as there are columns
};

// Columns aligned by blanks; a line for each row, and one above with their names. Cells are any
// text: it is cleaned (launch/report/clean_text.h).
std::string TableAsText(const TextTable& table);

}  // namespace rowhouse
