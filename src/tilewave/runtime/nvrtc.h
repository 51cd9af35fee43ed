// The CUDA compiler as a library (NVRTC), loaded at run time: part of the CUDA toolkit, also as the
// Python package nvidia-cuda-nvrtc. TILEWAVE_NVRTC names another library file.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace tilewave::runtime::cuda {

struct SourceFile {
  const char* name;  ///< as in #include
  const char* text;
};

class Nvrtc {
 public:
  /// Of the first of these versions of CUDA that is found; null where none can be loaded, and `why`
  /// says why. What is found stays loaded.
  static const Nvrtc* load(std::initializer_list<int> versions, std::string* why);

  /// "13.0"
  std::string version() const;

  struct Program {
    std::string binary;  ///< machine code of one architecture (cubin); empty where it failed
    std::string log;     ///< what the compiler said
  };
  /// Threads may compile at the same time.
  Program compile(const std::string& source, std::span<const SourceFile> files,
                  std::span<const std::string> options) const;

 private:
  Nvrtc() = default;
  std::string open(std::initializer_list<int> versions);

  using Handle = struct OpaqueProgram*;
  int (*get_version)(int*, int*) = nullptr;
  int (*create)(Handle*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*compile_program)(Handle, int, const char* const*) = nullptr;
  int (*log_size)(Handle, std::size_t*) = nullptr;
  int (*get_log)(Handle, char*) = nullptr;
  int (*binary_size)(Handle, std::size_t*) = nullptr;
  int (*get_binary)(Handle, char*) = nullptr;
};

}  // namespace tilewave::runtime::cuda
