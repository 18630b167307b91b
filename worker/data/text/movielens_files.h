// MovieLens' files of users and movies, in all the forms in which GroupLens and RecBole give them,
// and which of those forms a file of ratings has.
//
//   100K     u.data, u1.base, ... (tabs)      u.user, u.item (|)
//   1M, 10M  ratings.dat (::)                 users.dat, movies.dat (::)
//   20M on   ratings.csv (header)             movies.csv (header)
//   RecBole  NAME.inter (header, tabs)        NAME.user, NAME.item (headers, tabs)
//
// Threads: const after construction; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// What the lines of a file of ratings look like.
struct RatingsForm {
  char separator = '\t';
  size_t fields = 4;  // of a record
  bool has_header = false;
  // Where the fields of user, item, rating and timestamp are; nothing: they are not there.
  std::array<std::optional<size_t>, 4> at = {0, 1, 2, 3};

  // kUsage for a header without users or items. `file` is for the message.
  static Result<RatingsForm> Of(std::string_view first_record, const std::string& file);
};

// Features by the id of a user or of a movie, as texts under names.
class SideTable {
 public:
  // Of the files that lie beside `ratings`; an empty table if none does. kUsage
  // "FILE:LINE: what is wrong" for one of another form.
  //   users   age, gender (M or F), is_male (1 or 0), occupation, zip_code
  //   movies  title, release_year, genres (separated by |), and for each genre is_GENRE (1 or 0)
  static Result<SideTable> UsersBeside(const std::string& ratings);
  static Result<SideTable> MoviesBeside(const std::string& ratings);

  const std::vector<std::string>& names() const { return names_; }
  bool empty() const { return rows_.empty(); }
  uint64_t greatest_id() const { return greatest_id_; }
  uint64_t digest() const { return digest_; }  // of all of it; 0: it is empty

  // Features of `id`, one for each name; empty texts for an unknown id.
  std::span<const std::string> Of(std::string_view id) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  Status Add(std::string_view id, std::vector<std::string> row, const std::string& where);

  std::vector<std::string> names_;
  std::vector<std::string> unknown_;  // empty texts
  std::unordered_map<std::string, std::vector<std::string>, Hash, std::equal_to<>> rows_;
  uint64_t greatest_id_ = 0, digest_ = 0;
};

}  // namespace rowhouse
