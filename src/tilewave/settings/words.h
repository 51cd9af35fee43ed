// The words of a setting: one list, from which it is read, printed and refused, so that every
// command, QuEST's variables, Python and C++ know the same words and say the same of others.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tilewave/base/error.h"

namespace tilewave {

/// A word and what it stands for.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

/// "double, single or both": for messages and help texts.
template <class Value, std::size_t N>
std::string list_of(const std::array<Word<Value>, N>& words) {
  std::string list;
  for (std::size_t k = 0; k < N; ++k) {
    list += k == 0 ? "" : k + 1 == N ? " or " : ", ";
    list += words[k].text;
  }
  return list;
}

/// The value of a word, upper case or lower; nothing for any other text.
template <class Value, std::size_t N>
std::optional<Value> find_word(const std::array<Word<Value>, N>& words, std::string_view text);

/// ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// Text of a user for a message: in quotes, cut after 60 characters, control characters as '?'.
std::string quoted(std::string_view text);

template <class Value, std::size_t N>
std::optional<Value> find_word(const std::array<Word<Value>, N>& words, std::string_view text) {
  const std::string lower = lower_case(text);
  for (const auto& word : words) {
    if (word.text == lower) return word.value;
  }
  return std::nullopt;
}

/// The same; throws Error(kUsage) with the list of words for any other text. `what` is what the
/// words say, such as "engine".
template <class Value, std::size_t N>
Value parse_word(const std::array<Word<Value>, N>& words, const char* what, std::string_view text) {
  if (const auto found = find_word(words, text)) return *found;
  fail(ExitCode::kUsage, "unknown ", what, " ", quoted(text), ": use ", list_of(words));
}

/// The word of a value that is in the list.
template <class Value, std::size_t N>
std::string_view word_of(const std::array<Word<Value>, N>& words, Value value) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  return {};
}

}  // namespace tilewave
