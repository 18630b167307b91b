#include "launch/settings/declared_settings.h"

namespace rowhouse {
namespace {

SettingKind KindOf(DeclaredOption::Type type) {
  switch (type) {
    case DeclaredOption::Type::kBool:
      return SettingKind::kBool;
    case DeclaredOption::Type::kWhole:
    case DeclaredOption::Type::kInteger:
    case DeclaredOption::Type::kReal:
    case DeclaredOption::Type::kFloat:
      return SettingKind::kNumber;
    case DeclaredOption::Type::kChoice:
    case DeclaredOption::Type::kText:
      break;
  }
  return SettingKind::kText;
}

}  // namespace

SettingField Declared(const DeclaredOption& option, PickOptions pick, const std::string& path) {
  SettingField field{.kind = KindOf(option.type()),
                     .expected = option.expected(),
                     .words = option.words(),
                     .member = fmt::format("{}[{}]", path, option.name())};
  field.set = [option, pick](const std::string& text, Settings& settings) {
    return option.Set(text, &pick(settings));
  };
  field.get = [option, pick](const Settings& settings) {
    return option.TextIn(pick(const_cast<Settings&>(settings)));  // `pick` only picks
  };
  return field;
}

Entry EntryOf(const DeclaredOption& option, const std::vector<std::string>& takers,
              const std::string& prefix) {
  return {.name = prefix + option.name(),
          .help = fmt::format("With {}: {}", fmt::join(takers, ", "), option.help()),
          .digest = option.is_part_of_digest() ? Digest::kIn : Digest::kOut};
}

}  // namespace rowhouse
