#include "launch/figures/text_table.h"

#include <algorithm>

#include "common/clean_text.h"

namespace rowhouse {

std::string TableAsText(const TextTable& table) {
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

}  // namespace rowhouse
