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
  std::vector<std::vector<std::string>> rows;  // one cell for each column
};

// A line of column names, and a line for each row; columns are aligned by blanks. Cells may be any
// text: it is cleaned (common/clean_text.h).
std::string TableAsText(const TextTable& table);

}  // namespace rowhouse
