#include "syntax.hpp"

#include <cctype>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "instruction.hpp"

namespace simhip::isa {

namespace {

using std::string_view;

string_view trim(string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

bool starts_with(string_view text, string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(string_view text, string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// The pieces between separators that stand outside of brackets.
std::vector<string_view> split(string_view text, char separator) {
  std::vector<string_view> pieces;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '('))
      ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')'))
      --depth;
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      const string_view piece = trim(text.substr(begin, i - begin));
      if (!piece.empty())
        pieces.push_back(piece);
      begin = i + 1;
    }
  }
  return pieces;
}

bool integer(string_view text, std::int64_t &value, bool &hexadecimal) {
  const std::string copy(text);
  const char *begin = copy.c_str();
  const char *digits = *begin == '-' ? begin + 1 : begin;
  if (!std::isdigit(static_cast<unsigned char>(*digits)))
    return false;
  hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  char *end = nullptr;
  const std::uint64_t size = std::strtoull(digits, &end, hexadecimal ? 16 : 10);
  value = static_cast<std::int64_t>(*begin == '-' ? 0 - size : size);
  return *end == '\0';
}

bool number(string_view text, std::uint16_t &value) {
  if (text.empty() || text.size() > 3)
    return false;
  unsigned sum = 0;
  for (const char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c)))
      return false;
    sum = sum * 10 + static_cast<unsigned>(c - '0');
  }
  value = static_cast<std::uint16_t>(sum);
  return true;
}

// The number or the range after a register file's prefix: 7 or [6:9].
bool indices(string_view text, Operand &operand) {
  if (number(text, operand.first))
    return true;
  if (text.size() < 5 || text.front() != '[' || text.back() != ']')
    return false;
  text = text.substr(1, text.size() - 2);
  const std::size_t colon = text.find(':');
  std::uint16_t last = 0;
  if (colon == string_view::npos || !number(text.substr(0, colon), operand.first) ||
      !number(text.substr(colon + 1), last) || last < operand.first)
    return false;
  operand.registers = static_cast<std::uint16_t>(last - operand.first + 1);
  return true;
}

struct Named {
  const char *name;
  Operand::Kind kind;
  std::uint16_t first;
  std::uint16_t registers;
};

constexpr Named named_registers[] = {
    {"vcc", Operand::Kind::scalar, scalar_register::vcc, 2},
    {"vcc_lo", Operand::Kind::scalar, scalar_register::vcc, 1},
    {"vcc_hi", Operand::Kind::scalar, scalar_register::vcc + 1, 1},
    {"exec", Operand::Kind::scalar, scalar_register::exec, 2},
    {"exec_lo", Operand::Kind::scalar, scalar_register::exec, 1},
    {"exec_hi", Operand::Kind::scalar, scalar_register::exec + 1, 1},
    {"m0", Operand::Kind::scalar, scalar_register::m0, 1},
    {"flat_scratch", Operand::Kind::scalar, scalar_register::flat_scratch, 2},
    {"flat_scratch_lo", Operand::Kind::scalar, scalar_register::flat_scratch, 1},
    {"flat_scratch_hi", Operand::Kind::scalar, scalar_register::flat_scratch + 1, 1},
    {"xnack_mask", Operand::Kind::scalar, scalar_register::xnack_mask, 2},
    {"src_shared_base", Operand::Kind::special, scalar_register::shared_base, 2},
    {"src_shared_limit", Operand::Kind::special, scalar_register::shared_limit, 2},
    {"src_private_base", Operand::Kind::special, scalar_register::private_base, 2},
    {"src_private_limit", Operand::Kind::special, scalar_register::private_limit, 2},
    {"src_vccz", Operand::Kind::special, scalar_register::vccz, 1},
    {"src_execz", Operand::Kind::special, scalar_register::execz, 1},
    {"src_scc", Operand::Kind::special, scalar_register::scc, 1},
};

bool parse_register(string_view text, Operand &operand) {
  for (const Named &named : named_registers)
    if (text == named.name) {
      operand.kind = named.kind;
      operand.first = named.first;
      operand.registers = named.registers;
      return true;
    }
  if (starts_with(text, "ttmp") && indices(text.substr(4), operand) &&
      operand.first + operand.registers <= 16) {
    operand.kind = Operand::Kind::scalar;
    operand.first = static_cast<std::uint16_t>(operand.first + scalar_register::ttmp);
    return true;
  }
  if (text.size() < 2 || !indices(text.substr(1), operand))
    return false;
  if (text[0] == 's' && operand.first + operand.registers <= scalar_register::flat_scratch) {
    operand.kind = Operand::Kind::scalar;
    return true;
  }
  if ((text[0] == 'v' || text[0] == 'a') && operand.first + operand.registers <= 256) {
    operand.kind = Operand::Kind::vector;
    if (text[0] == 'a')
      operand.first = static_cast<std::uint16_t>(operand.first + first_accumulator);
    return true;
  }
  return false;
}

Operand parse_operand(string_view text) {
  Operand operand;
  operand.text = std::string(text);
  if (integer(text, operand.integer, operand.hexadecimal)) {
    operand.kind = Operand::Kind::integer;
    return operand;
  }
  if (text.find('.') != string_view::npos) {
    char *end = nullptr;
    operand.decimal = std::strtod(operand.text.c_str(), &end);
    if (*end == '\0') {
      operand.kind = Operand::Kind::decimal;
      return operand;
    }
  }
  // neg() is printed where a minus would make another constant.
  string_view rest = text;
  if (starts_with(rest, "neg(") && ends_with(rest, ")")) {
    operand.negative = true;
    rest = rest.substr(4, rest.size() - 5);
  } else if (starts_with(rest, "-")) {
    operand.negative = true;
    rest.remove_prefix(1);
  }
  if (rest.size() > 2 && rest.front() == '|' && rest.back() == '|') {
    operand.absolute = true;
    rest = rest.substr(1, rest.size() - 2);
  }
  if (starts_with(rest, "sext(") && ends_with(rest, ")")) {
    operand.sign_extend = true;
    rest = rest.substr(5, rest.size() - 6);
  }
  if (parse_register(rest, operand))
    return operand;
  if ((operand.negative || operand.absolute) &&
      integer(rest, operand.integer, operand.hexadecimal)) {
    operand.kind = Operand::Kind::integer;
    return operand;
  }
  operand = Operand{};
  operand.text = std::string(text);
  return operand;
}

bool parse_modifier(string_view text, Modifier &modifier) {
  const std::size_t colon = text.find(':');
  modifier.name = std::string(text.substr(0, colon));
  if (colon == string_view::npos)
    return true;
  string_view value = text.substr(colon + 1);
  bool hexadecimal = false;
  if (value.size() > 2 && value.front() == '[' && value.back() == ']') {
    for (const string_view piece : split(value.substr(1, value.size() - 2), ',')) {
      std::int64_t element = 0;
      if (!integer(piece, element, hexadecimal))
        return false;
      modifier.values.push_back(element);
    }
    return true;
  }
  std::int64_t element = 0;
  if (integer(value, element, hexadecimal))
    modifier.values.push_back(element);
  else
    modifier.word = std::string(value);
  return true;
}

struct Suffix {
  const char *text;
  Syntax::Encoding encoding;
};

constexpr Suffix suffixes[] = {{"_e32", Syntax::Encoding::e32},
                               {"_e64", Syntax::Encoding::e64},
                               {"_sdwa", Syntax::Encoding::sdwa},
                               {"_dpp", Syntax::Encoding::dpp}};

} // namespace

bool parse(const std::string &text, Syntax &syntax, std::string &error) {
  string_view rest = text;
  rest = trim(rest.substr(0, rest.find("//")));
  const std::size_t blank = rest.find_first_of(" \t");
  syntax.mnemonic = std::string(rest.substr(0, blank));
  rest = blank == string_view::npos ? string_view() : trim(rest.substr(blank));
  for (const Suffix &suffix : suffixes)
    if (ends_with(syntax.mnemonic, suffix.text)) {
      syntax.mnemonic.resize(syntax.mnemonic.size() - std::char_traits<char>::length(suffix.text));
      syntax.encoding = suffix.encoding;
      break;
    }

  std::vector<string_view> pieces = split(rest, ',');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // Modifiers follow the last operand after blanks; a comma between two of them is none of ours.
    const std::vector<string_view> words = split(pieces[i], ' ');
    if (words.size() > 1 && i + 1 != pieces.size()) {
      error = "'" + std::string(pieces[i]) + "' is not one operand";
      return false;
    }
    for (std::size_t w = 0; w < words.size(); ++w) {
      const bool is_modifier =
          w > 0 || (pieces.size() == 1 && words[w].find(':') != string_view::npos &&
                    words[w].find('[') == string_view::npos);
      if (!is_modifier) {
        syntax.operands.push_back(parse_operand(words[w]));
        continue;
      }
      Modifier modifier;
      if (!parse_modifier(words[w], modifier)) {
        error = "modifier '" + std::string(words[w]) + "' is not understood";
        return false;
      }
      syntax.modifiers.push_back(std::move(modifier));
    }
  }
  return true;
}

} // namespace simhip::isa
