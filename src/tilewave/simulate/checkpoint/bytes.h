// Values as bytes and back, for checkpoints: numbers in the machine's order, lists behind their
// length. A reader never goes past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::simulate {

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(std::uint64_t{list.size()});
    bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
  }
  void put_text(std::string_view text) {
    put(std::uint64_t{text.size()});
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  /// `name` of the file, for messages.
  ByteReader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  /// Of a bool take get_flag(): not every byte is one.
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_list() {
    std::vector<T> list(get_count(sizeof(T)));
    if (!list.empty())
      std::memcpy(static_cast<void*>(list.data()), take(list.size() * sizeof(T)),
                  list.size() * sizeof(T));
    return list;
  }
  bool get_flag() { return get<std::uint8_t>() != 0; }
  std::string get_text() {
    const std::size_t size = get_count(1);
    return std::string(take(size), size);
  }
  /// A number of things that follow, of at least so many bytes each.
  std::size_t get_count(std::size_t least_bytes) {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / least_bytes) fail();
    return static_cast<std::size_t>(count);
  }
  bool is_done() const { return rest_.empty(); }
  [[noreturn]] void fail() const {
    throw Error(ExitCode::kInput, name_ + ": the checkpoint is damaged: start the run anew");
  }

 private:
  const char* take(std::size_t size) {
    if (size > rest_.size()) fail();
    const char* at = rest_.data();
    rest_.remove_prefix(size);
    return at;
  }

  std::string_view rest_;
  std::string name_;
};

}  // namespace tilewave::simulate
