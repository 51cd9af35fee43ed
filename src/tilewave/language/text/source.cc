#include "tilewave/language/text/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "tilewave/base/concat.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/open_error.h"
#include "tilewave/base/units.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::language {
namespace {

constexpr std::size_t kWindow = 60;  // characters shown on each side of the caret

constexpr std::size_t kLongWord = 80, kWordHead = 60, kWordTail = 12;      // of a message
constexpr std::size_t kLongText = 1000, kTextHead = 700, kTextTail = 200;  // likewise
constexpr std::size_t kSurelyFits = std::size_t{1} << 28;  // bytes of a text, read without a look
                                                           // at what memory is free

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character at `at`; 0 where none is.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xC2 && first < 0xE0 ? 2
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xF0 && first < 0xF5 ? 4
                                                           : 0;
  if (size == 0 || at + size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if (!continues_character(text[at + k])) return 0;
  }
  if (size < 3) return size;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || beyond ? 0 : size;
}

// Control characters (C0, DEL, C1), line separators and marks of the direction of writing.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(character[k]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) {
    return (byte(2) >= 0xA8 && byte(2) <= 0xAE) || byte(2) == 0x8E || byte(2) == 0x8F;
  }
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
}

// Adds the character at `at` as it is shown; returns how many bytes of the text it takes.
std::size_t show(std::string_view text, std::size_t at, std::string& out) {
  const std::size_t size = character_bytes(text, at);
  if (size == 0) {
    out += '?';
    return 1;
  }
  const std::string_view character = text.substr(at, size);
  out += is_control(character) ? std::string_view(" ") : character;
  return size;
}

// The first and the last bytes of a text, cut between characters.
std::string without_middle(std::string_view text, std::size_t head, std::size_t tail) {
  while (head > 0 && continues_character(text[head])) --head;
  std::size_t rest = text.size() - tail;
  while (rest < text.size() && continues_character(text[rest])) ++rest;
  return concat(text.substr(0, head), "...", text.substr(rest));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

bool is_same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// "name:line:column: ".
std::string place_of(const TextSource& source, std::size_t offset) {
  const std::string_view before = source.text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // 0 where there is none
  const auto is_start = [](char c) { return !continues_character(c); };
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(begin),
                                        before.end(), is_start);
  return concat(without_controls(source.name), ":", line, ":", column, ": ");
}

// What gates are called in other languages and in books.
constexpr std::string_view kOtherNames[][2] = {
    {"cnot", "cx"},     {"not", "x"},
    {"toffoli", "ccx"}, {"ccnot", "ccx"},
    {"hadamard", "h"},  {"phase", "p"},
    {"cphase", "cp"},   {"fredkin", "cswap"},
    {"identity", "id"}, {"measure_all", "measure"},
};

}  // namespace

std::string read_text_file(const std::string& path) {
  const std::string name = without_controls(path);
  const auto fail = [&](const std::string& why) {
    tilewave::fail(ExitCode::kInput, name, ": cannot read the file: ", why);
  };
  const int fd = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    tilewave::fail(code_of_open(error), name, ": cannot read the file: ", std::strerror(error));
  }
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("it is a directory: name a file");
  const bool regular = S_ISREG(info.st_mode);
  std::string text;
  const auto make_room = [&](std::size_t size) {
    try {
      if (size > kSurelyFits && size > runtime::available_host_bytes()) throw std::bad_alloc();
      text.resize(size);
    } catch (const std::bad_alloc&) {
      tilewave::fail_memory(name, ": a text of ", in_bytes(text.empty() ? size : text.size()),
                            " or more does not fit this machine's memory: is it the right file?");
    }
  };
  make_room(regular ? static_cast<std::size_t>(info.st_size) + 1 : 1 << 16);
  std::size_t used = 0;
  while (true) {
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno));
    if (got == 0) break;
    const auto count = static_cast<std::size_t>(got);
    used += count;
    if (!regular && std::memchr(text.data() + used - count, '\0', count)) break;
    if (used == text.size()) make_room(2 * used);
  }
  text.resize(used);
  return text;
}

std::string path_beside(const std::string& current, std::string_view name) {
  const std::size_t slash = current.rfind('/');
  if (name.starts_with("/") || slash == std::string::npos) return std::string(name);
  return current.substr(0, slash + 1) + std::string(name);
}

std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) at += show(text, at, out);
  return out;
}

std::string printable(std::string_view text) {
  const std::string whole = without_controls(text);
  std::string out;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find(' ', at), whole.size());
    const std::string_view word(whole.data() + at, end - at);
    out += word.size() > kLongWord ? without_middle(word, kWordHead, kWordTail) : word;
    if (end < whole.size()) out += ' ';
    at = end + 1;
  }
  return out.size() > kLongText ? without_middle(out, kTextHead, kTextTail) : out;
}

std::string gate_form(std::string_view name, std::size_t num_params, std::size_t num_qubits) {
  // "word" or "word1, word2", at most four of them
  const auto list = [](const char* word, std::size_t count) {
    std::string out;
    for (std::size_t k = 0; k < std::min<std::size_t>(count, 4); ++k) {
      if (k > 0) out += ", ";
      out += word;
      if (count > 1) out += std::to_string(k + 1);
    }
    return count > 4 ? out + ", ..." : out;
  };
  const std::string angles = num_params ? "(" + list("angle", num_params) + ")" : "";
  const std::string space = num_qubits ? " " : "";
  return concat("'", name, "' is a gate, applied as '", name, angles, space, list("q", num_qubits),
                ";'");
}

void fail_at(const TextSource& source, std::size_t offset, const std::string& problem,
             ExitCode code) {
  const std::string_view text = source.text;
  if (!source.unlike.empty()) {
    tilewave::fail(code, place_of(source, offset), "this file does not start like ", source.unlike,
                   " (its text is not shown): is it the right one?");
  }
  offset = std::min(offset, text.size());
  const std::size_t before = text.substr(0, offset).rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());

  std::size_t first = offset - begin > kWindow ? offset - kWindow : begin;
  std::size_t last = end - offset > kWindow ? offset + kWindow : end;
  while (first > begin && continues_character(text[first])) --first;
  while (last < end && continues_character(text[last])) ++last;
  std::string excerpt = first > begin ? "..." : "", caret(excerpt.size(), ' ');
  for (std::size_t k = first; k < last;) {
    if (k < offset) caret += ' ';
    k += show(text, k, excerpt);
  }
  while (!excerpt.empty() && excerpt.back() == ' ' && excerpt.size() > caret.size()) {
    excerpt.pop_back();
  }
  if (last < end) excerpt += "...";
  const std::string message =
      concat(place_of(source, offset), printable(problem), "\n", excerpt, "\n", caret, "^");
  if (code == ExitCode::kResources) fail_memory(message);
  tilewave::fail(code, message);
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

void check_is_text(const TextSource& source) {
  if (source.text.empty()) {
    tilewave::fail(ExitCode::kInput, without_controls(source.name), ": the file is empty");
  }
  const std::size_t nul = source.text.find('\0');
  if (nul != std::string_view::npos) {
    tilewave::fail(ExitCode::kInput, place_of(source, nul),
                   "a NUL byte: this is not a text file (ASCII or UTF-8 is read)");
  }
}

std::string comma_list(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > 64) return {};
  for (const std::string_view candidate : candidates) {
    if (is_same_but_for_case(name, candidate)) return candidate;
  }
  // At most a third of the letters (two of a short name) may differ; ties go to the same first one.
  std::string_view best;
  std::size_t best_score = 2 * std::max<std::size_t>(2, name.size() / 3 + 1) - 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > name.size() + best_score) continue;
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t score = 2 * distance + (name[0] != candidate[0]);
    if (score < best_score && distance < std::max(name.size(), candidate.size())) {
      best = candidate, best_score = score;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view best = nearest_name(name, candidates);
  return best.empty() || best == name ? std::string() : concat(": did you mean '", best, "'?");
}

std::string did_you_mean_gate(std::string_view name, std::span<const std::string_view> candidates) {
  for (const auto& [other, usual] : kOtherNames) {
    if (is_same_but_for_case(name, other) &&
        std::find(candidates.begin(), candidates.end(), usual) != candidates.end()) {
      return concat(": did you mean '", usual, "'?");
    }
  }
  return did_you_mean(name, candidates);
}

}  // namespace tilewave::language
