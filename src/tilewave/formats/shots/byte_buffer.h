// Bytes that grow at the end and are written before they are counted, so that nothing is filled
// with zeros first: vector::resize would touch all output twice.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace tilewave::formats {

class ByteBuffer {
 public:
  char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<const char> bytes() const { return {data_.get(), size_}; }
  void clear() { size_ = 0; }

  /// Room for `more` bytes behind the end; add() what was written.
  char* reserve(std::size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
    return data_.get() + size_;
  }
  void add(std::size_t written) { size_ += written; }
  /// Appends `more` bytes for the caller to write.
  char* extend(std::size_t more) {
    char* at = reserve(more);
    size_ += more;
    return at;
  }
  /// Takes the last bytes away again.
  void take_back(std::size_t bytes) { size_ -= bytes; }
  void push_back(char c) { *extend(1) = c; }

 private:
  void grow(std::size_t need) {
    capacity_ = need > 2 * capacity_ ? need : 2 * capacity_;
    std::unique_ptr<char[]> larger(new char[capacity_]);
    if (size_) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace tilewave::formats
