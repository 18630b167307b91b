// DeclaredOption: an option that one member of a family (an optimizer, a data source, a store, ...)
// takes, declared in the member's own file beside its registration:
//
//   const DeclaredOption kDecay =
//       DeclaredOption::Real("decay", 0.9, 0.0, 1.0, "share of the past in the mean square");
//   ...  decay_(kDecay.RealIn(options.own))  ...
//   REGISTER_MEMBER(AddOptimizer<RmsProp>("rmsprop", {kDecay}));
//
// Flags, the YAML file, --help, --print_config, the config digest, HELLO and the manifest know it
// from the family's registry (common/registry.h), so that a member with options is one new file.
//
// Threads: const after construction; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace rowhouse {

template <typename T>
struct Value;  // common/value.h

// Values of declared options by name, in the form that DeclaredOption::Read gives. An option at its
// default is left out, so that equal maps mean equal options.
using OptionValues = std::map<std::string, std::string>;

class DeclaredOption {
 public:
  enum class Type { kBool, kWhole, kInteger, kReal, kChoice, kText };

  // `name`: of the flag and the key, [a-z0-9_]+, unique among the settings. `help`: what it is, as
  // the rest of a sentence, without a full stop. `min` and `max` are legal values; the extreme
  // values of a type mean no bound, and a `min` of the smallest number above 0 means above 0.
  static DeclaredOption Bool(std::string name, bool otherwise, std::string help);
  static DeclaredOption Whole(std::string name, uint64_t otherwise, uint64_t min, uint64_t max,
                              std::string help);
  static DeclaredOption Integer(std::string name, int64_t otherwise, int64_t min, std::string help);
  static DeclaredOption Real(std::string name, double otherwise, double min, double max,
                             std::string help);
  // One of `words`, the first by default.
  static DeclaredOption Choice(std::string name, std::vector<std::string> words, std::string help);
  static DeclaredOption Text(std::string name, std::string otherwise, std::string help);

  const std::string& name() const { return name_; }
  Type type() const { return type_; }
  const std::string& help() const { return help_; }
  const std::string& expected() const { return expected_; }  // "a whole number from 1 to 9"
  const std::string& default_text() const { return default_; }
  // All values of a kBool or kChoice.
  const std::vector<std::string>& words() const { return words_; }

  // Reads `text` and returns its value in a fixed form: texts that mean the same value give the
  // same string. kUsage for any other text: "expected a whole number from 1 to 9".
  Result<std::string> Read(const std::string& text) const { return read_(text); }

  // Writes what `text` says into *values. kUsage as Read; *values is then as before.
  Status Set(const std::string& text, OptionValues* values) const;

  // Each returns the value that `values` has for this option, or the default if it has none.
  // Requires an option of the type in the function's name (TextIn: of any type) and a value that
  // Read accepts; Registry::Make has checked both.
  const std::string& TextIn(const OptionValues& values) const;
  bool BoolIn(const OptionValues& values) const;
  uint64_t WholeIn(const OptionValues& values) const;
  int64_t IntegerIn(const OptionValues& values) const;
  double RealIn(const OptionValues& values) const;

  // Whether both are one option: same name, type, default, bounds and help. Several members may
  // declare one option.
  bool operator==(const DeclaredOption& other) const;

 private:
  template <typename T>
  DeclaredOption(std::string name, Type type, const T& otherwise, const Value<T>& value,
                 std::string help);
  const std::string& TextOf(Type type, const OptionValues& values) const;

  std::string name_;
  Type type_;
  std::string default_;
  std::string help_;
  std::string expected_;
  std::vector<std::string> words_;
  std::function<Result<std::string>(const std::string& text)> read_;
};

// The values of those options that `declared` lists.
OptionValues OnlyDeclared(const std::vector<DeclaredOption>& declared, const OptionValues& values);

// kUsage, naming `member` ("optimizer sgd"), if `values` has an option that the member did not
// declare (an option without effect is a mistake), or a value that the option does not take.
Status CheckDeclared(std::string_view member, const std::vector<DeclaredOption>& declared,
                     const OptionValues& values);

}  // namespace rowhouse
