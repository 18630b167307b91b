#include "worker/data/traces/tensor_pickle.h"

#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace rowhouse {
namespace {

struct Value;
using ValuePtr = Value*;  // owned by the Machine: values may be nested at any depth, and in cycles

struct Value {
  enum class Kind { kOther, kMark, kNumber, kText, kGlobal, kList, kStorage, kTensor };
  Kind kind = Kind::kOther;
  uint64_t number = 0;
  std::string text;             // of a text or a global: "torch LongStorage"
  std::vector<ValuePtr> items;  // of a tuple or list
  PickledTensor tensor;         // or the storage's type and name
};

Status Unexpected(std::string_view what) {
  return CorruptionError("holds {}, not a tuple of tensors of whole numbers", what);
}

// The machine of pickles (Python's Lib/pickletools.py), as far as tensors need it.
class Machine {
 public:
  explicit Machine(std::string_view pickle) : left_(pickle) {}

  // What it returns lives as long as the machine.
  Result<ValuePtr> Run();

  // What follows the pickle, after Run().
  std::string_view left() const { return left_; }

 private:
  enum class Next { kGoOn, kStop };

  Result<Next> Step(char opcode);
  Status Number(char opcode);
  Status Text(char opcode);
  Status Collection(char opcode);
  Status Memo(char opcode);
  Status Object(char opcode);
  Status Reduce();

  std::string_view Take(size_t bytes);
  std::string_view Line();
  uint64_t Whole(size_t bytes);
  ValuePtr Keep(Value value) { return &values_.emplace_back(std::move(value)); }
  void Push(Value value) { stack_.push_back(Keep(std::move(value))); }
  ValuePtr Pop();
  std::vector<ValuePtr> PopToMark();
  std::vector<ValuePtr> PopSome(size_t count);

  std::string_view left_;
  bool is_short_ = false;  // the pickle ended, or the stack was empty
  std::deque<Value> values_;
  std::vector<ValuePtr> stack_;
  std::map<uint64_t, ValuePtr> memo_;
};

std::string_view Machine::Take(size_t bytes) {
  if (bytes > left_.size()) {
    is_short_ = true;
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

std::string_view Machine::Line() {
  const size_t end = left_.find('\n');
  if (end == std::string_view::npos) {
    is_short_ = true;
    return {};
  }
  const std::string_view line = Take(end);
  Take(1);
  return line;
}

uint64_t Machine::Whole(size_t bytes) {
  uint64_t value = 0;
  const std::string_view from = Take(bytes);
  if (!from.empty()) std::memcpy(&value, from.data(), from.size());
  return value;
}

ValuePtr Machine::Pop() {
  if (stack_.empty()) {
    is_short_ = true;
    return Keep({});
  }
  const ValuePtr top = stack_.back();
  stack_.pop_back();
  return top;
}

std::vector<ValuePtr> Machine::PopToMark() {
  size_t mark = stack_.size();
  while (mark > 0 && stack_[mark - 1]->kind != Value::Kind::kMark) --mark;
  if (mark == 0) {
    is_short_ = true;
    return {};
  }
  std::vector<ValuePtr> items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
  stack_.resize(mark - 1);
  return items;
}

std::vector<ValuePtr> Machine::PopSome(size_t count) {
  std::vector<ValuePtr> items(count);
  for (size_t i = count; i-- > 0;) items[i] = Pop();
  return items;
}

Status Machine::Number(char opcode) {
  Value value{.kind = Value::Kind::kNumber};
  switch (opcode) {
    case 'J':  // BININT
      value.number = Whole(4);
      if (value.number >> 31 != 0) return Unexpected("a negative number");
      break;
    case 'K':  // BININT1
      value.number = Whole(1);
      break;
    case 'M':  // BININT2
      value.number = Whole(2);
      break;
    default: {  // LONG1
      const uint64_t bytes = Whole(1);
      if (bytes > 9) return Unexpected("a number of more than 64 bits");
      const std::string_view digits = Take(bytes);
      for (size_t i = digits.size(); i-- > 0;) {
        value.number = value.number << 8 | static_cast<uint8_t>(digits[i]);
      }
      if (!digits.empty() && static_cast<uint8_t>(digits.back()) >= 0x80) {
        return Unexpected("a negative number");
      }
    }
  }
  Push(std::move(value));
  return OkStatus();
}

Status Machine::Text(char opcode) {
  const size_t bytes = opcode == 'X' ? Whole(4) : Whole(1);  // BINUNICODE, SHORT_BINUNICODE
  Push({.kind = Value::Kind::kText, .text = std::string(Take(bytes))});
  return OkStatus();
}

Status Machine::Collection(char opcode) {
  Value value{.kind = Value::Kind::kList};
  switch (opcode) {
    case ')':  // EMPTY_TUPLE
    case ']':  // EMPTY_LIST
      break;
    case 't':  // TUPLE
      value.items = PopToMark();
      break;
    case '\x85':
    case '\x86':
    case '\x87':  // TUPLE1, TUPLE2, TUPLE3
      value.items = PopSome(static_cast<uint8_t>(opcode) - 0x84u);
      break;
    case 'a':    // APPEND
    case 'e': {  // APPENDS
      const std::vector<ValuePtr> items = opcode == 'a' ? PopSome(1) : PopToMark();
      const ValuePtr list = Pop();
      list->items.insert(list->items.end(), items.begin(), items.end());
      stack_.push_back(list);
      return OkStatus();
    }
    case '}':  // EMPTY_DICT
      value.kind = Value::Kind::kOther;
      break;
    default:  // SETITEMS, of the hooks of a tensor
      PopToMark();
      return OkStatus();
  }
  Push(std::move(value));
  return OkStatus();
}

Status Machine::Memo(char opcode) {
  if (opcode == 'q' || opcode == 'r' || opcode == '\x94') {  // BINPUT, LONG_BINPUT, MEMOIZE
    const uint64_t at = opcode == 'q' ? Whole(1) : opcode == 'r' ? Whole(4) : memo_.size();
    const ValuePtr top = Pop();
    memo_[at] = top;
    stack_.push_back(top);
    return OkStatus();
  }
  const auto found = memo_.find(opcode == 'h' ? Whole(1) : Whole(4));  // BINGET, LONG_BINGET
  if (found == memo_.end()) return Unexpected("a reference to nothing");
  stack_.push_back(found->second);
  return OkStatus();
}

Status Machine::Object(char opcode) {
  if (opcode == 'c') {  // GLOBAL
    const std::string module(Line());
    Push({.kind = Value::Kind::kGlobal, .text = module + " " + std::string(Line())});
    return OkStatus();
  }
  if (opcode == 'R') return Reduce();
  if (opcode == 'b') {  // BUILD: the state of an OrderedDict
    Pop();
    return OkStatus();
  }
  // BINPERSID: ("storage", type, name, device, elements); before torch 1.6 with None behind it
  const ValuePtr id = Pop();
  const bool is_whole =
      id->items.size() == 5 || (id->items.size() == 6 && id->items[5]->kind == Value::Kind::kOther);
  if (!is_whole || id->items[0]->text != "storage" || id->items[1]->kind != Value::Kind::kGlobal) {
    return Unexpected("a reference that is no storage");
  }
  const std::string& type = id->items[1]->text;
  if (!type.starts_with("torch ")) return Unexpected(type);
  Value storage{.kind = Value::Kind::kStorage};
  storage.tensor.storage_type = type.substr(std::strlen("torch "));
  storage.tensor.storage = id->items[2]->text;
  Push(std::move(storage));
  return OkStatus();
}

// _rebuild_tensor_v2(storage, offset, shape, strides, ...)
Status Machine::Reduce() {
  const ValuePtr arguments = Pop(), function = Pop();
  if (function->kind != Value::Kind::kGlobal) return Unexpected("a call of no function");
  if (function->text == "collections OrderedDict") {
    Push({});
    return OkStatus();
  }
  const std::vector<ValuePtr>& of = arguments->items;
  if (function->text != "torch._utils _rebuild_tensor_v2" || of.size() < 4 ||
      of[0]->kind != Value::Kind::kStorage) {
    return Unexpected(function->text);
  }
  Value tensor{.kind = Value::Kind::kTensor, .tensor = of[0]->tensor};
  tensor.tensor.offset = of[1]->number;
  for (const ValuePtr& size : of[2]->items) tensor.tensor.shape.push_back(size->number);
  for (const ValuePtr& stride : of[3]->items) tensor.tensor.strides.push_back(stride->number);
  Push(std::move(tensor));
  return OkStatus();
}

Result<Machine::Next> Machine::Step(char opcode) {
  Status status;
  switch (opcode) {
    case '.':
      return Next::kStop;
    case '\x80':  // PROTO
      Take(1);
      break;
    case '\x95':  // FRAME
      Take(8);
      break;
    case '(':
      Push({.kind = Value::Kind::kMark});
      break;
    case 'N':     // NONE
    case '\x88':  // NEWTRUE
    case '\x89':  // NEWFALSE
      Push({});
      break;
    case 'J':
    case 'K':
    case 'M':
    case '\x8a':
      status = Number(opcode);
      break;
    case 'X':
    case '\x8c':
      status = Text(opcode);
      break;
    case ')':
    case ']':
    case '}':
    case 't':
    case 'a':
    case 'e':
    case 'u':
    case '\x85':
    case '\x86':
    case '\x87':
      status = Collection(opcode);
      break;
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case '\x94':
      status = Memo(opcode);
      break;
    case 'c':
    case 'R':
    case 'b':
    case 'Q':
      status = Object(opcode);
      break;
    default:
      return Unexpected("other objects");
  }
  RETURN_IF_ERROR(status);
  return Next::kGoOn;
}

Result<ValuePtr> Machine::Run() {
  for (;;) {
    const std::string_view opcode = Take(1);
    if (is_short_) return CorruptionError("has a pickle that is damaged");
    ASSIGN_OR_RETURN(const Next next, Step(opcode[0]));
    if (next == Next::kStop) break;
  }
  const ValuePtr root = Pop();
  if (is_short_) return CorruptionError("has a pickle that is damaged");
  return root;
}

}  // namespace

Result<std::vector<PickledTensor>> ReadTensorPickle(std::string_view* text) {
  Machine machine(*text);
  ASSIGN_OR_RETURN(const ValuePtr root, machine.Run());
  *text = machine.left();
  if (root->kind != Value::Kind::kList) return Unexpected("one object");
  std::vector<PickledTensor> tensors;
  for (const ValuePtr& item : root->items) {
    if (item->kind != Value::Kind::kTensor) return Unexpected("other objects");
    tensors.push_back(item->tensor);
  }
  return tensors;
}

Result<std::vector<std::string>> ReadTextPickle(std::string_view* text) {
  Machine machine(*text);
  ASSIGN_OR_RETURN(const ValuePtr root, machine.Run());
  *text = machine.left();
  std::vector<std::string> texts;
  for (const ValuePtr& item : root->items) {
    if (item->kind != Value::Kind::kText) return Unexpected("other objects");
    texts.push_back(item->text);
  }
  return texts;
}

Status SkipPickle(std::string_view* text) {
  Machine machine(*text);
  const Status status = machine.Run().status();
  *text = machine.left();
  return status;
}

}  // namespace rowhouse
