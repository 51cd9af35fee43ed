#include "tilewave/formats/npy/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"

namespace tilewave::formats {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class Npy : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tilewave_npy_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const char* f : {"/a.npy", "/b.npy"}) ::unlink((folder_ + f).c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path(const char* name = "a.npy") const { return folder_ + "/" + name; }
  void put(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::string error() const {
    return error_of([&] { read_npy(path()); }, ExitCode::kInput);
  }
  std::string folder_;
};

std::string with_header(const std::string& dictionary, const std::string& data = "") {
  std::string out = std::string("\x93NUMPY\x01", 7) + '\0';
  out += static_cast<char>(dictionary.size() & 255);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary + data;
}

TEST_F(Npy, round_trips_every_type_and_shape) {
  for (const NpyType type : {NpyType::kUint8, NpyType::kFloat32, NpyType::kFloat64,
                             NpyType::kComplex64, NpyType::kComplex128}) {
    for (const auto& shape :
         std::vector<std::vector<std::uint64_t>>{{}, {0}, {5}, {3, 4}, {2, 1, 7}}) {
      const NpyHeader header{type, shape};
      std::vector<std::byte> bytes(header.num_bytes());
      for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(k * 37);
      write_npy(path(), header, bytes);
      const NpyArray back = read_npy(path());
      EXPECT_EQ(back.header.type, type);
      EXPECT_EQ(back.header.shape, shape);
      EXPECT_EQ(back.bytes, bytes);
      struct stat info {};
      ASSERT_EQ(::stat(path().c_str(), &info), 0);
      EXPECT_EQ((static_cast<std::uint64_t>(info.st_size) - bytes.size()) % 64, 0u);
    }
  }
}

TEST_F(Npy, reads_both_orders_of_bytes) {
  struct Row {
    const char* code;
    NpyType type;
    std::size_t part;  // bytes that are turned round together
  };
  for (const Row& row : {Row{"u2", NpyType::kUint16, 2},
                         {"i2", NpyType::kInt16, 2},
                         {"u4", NpyType::kUint32, 4},
                         {"i4", NpyType::kInt32, 4},
                         {"u8", NpyType::kUint64, 8},
                         {"i8", NpyType::kInt64, 8},
                         {"f2", NpyType::kFloat16, 2},
                         {"f4", NpyType::kFloat32, 4},
                         {"f8", NpyType::kFloat64, 8},
                         {"c8", NpyType::kComplex64, 4},
                         {"c16", NpyType::kComplex128, 8},
                         {"i1", NpyType::kInt8, 1},
                         {"u1", NpyType::kUint8, 1},
                         {"b1", NpyType::kUint8, 1}}) {
    std::string data = "abcdefghijklmnopABCDEFGHIJKLMNOP", turned = data;
    for (std::size_t k = 0; k < data.size(); k += row.part) {
      std::reverse_copy(data.begin() + k, data.begin() + k + row.part, turned.begin() + k);
    }
    const std::size_t count = data.size() / npy_element_bytes(row.type);
    for (const char order : {'<', '>'}) {
      put(with_header(concat("{'descr': '", std::string(1, order), row.code,
                             "', 'fortran_order': False, 'shape': (", count, ",), }\n"),
                      order == '<' ? data : turned));
      const NpyArray array = read_npy(path());
      EXPECT_EQ(array.header.type, row.type) << row.code;
      ASSERT_EQ(array.bytes.size(), data.size());
      EXPECT_EQ(std::memcmp(array.bytes.data(), data.data(), data.size()), 0) << order << row.code;
    }
  }
}

TEST_F(Npy, writes_the_bytes_of_the_format) {
  const float numbers[] = {1, 2};
  write_npy(path(), {NpyType::kFloat32, {2}}, std::as_bytes(std::span(numbers)));
  const std::string bytes = bytes_of(path());
  ASSERT_EQ(bytes.size(), 136u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, ), } ");
  EXPECT_EQ(bytes[127], '\n');
}

TEST_F(Npy, an_unfinished_array_leaves_the_old_file) {
  const double one[] = {1};
  write_npy(path(), {NpyType::kFloat64, {1}}, std::as_bytes(std::span(one)));
  {
    NpyWriter writer(path(), {NpyType::kFloat64, {2}});
    writer.write(std::span<const double>(one));
    EXPECT_THROW(writer.close(), Error);
    EXPECT_THROW(writer.write(std::as_bytes(std::span("too many bytes here"))), Error);
  }
  EXPECT_EQ(read_npy(path()).header.shape, std::vector<std::uint64_t>{1});
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(Npy, a_full_disk_and_a_bad_path_are_resource_errors) {
  const std::vector<std::byte> bytes(1 << 20);
  for (const std::string target : {"/dev/full", "/nowhere/at/all.npy", "/"}) {
    const auto message = error_of(
        [&] {
          write_npy(target, {NpyType::kUint8, {bytes.size()}}, bytes);
        },
        ExitCode::kResources);
    EXPECT_TRUE(message.starts_with(target)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(Npy, bad_files_give_one_clear_error) {
  EXPECT_TRUE(has(error(), "No such file"));
  put("not an array at all");
  EXPECT_TRUE(has(error(), "no .npy file"));
  put("");
  EXPECT_TRUE(has(error(), "truncated"));
  put(with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", "12345678"));
  EXPECT_TRUE(has(error(), "needs 24 bytes, it holds 8"));
  put(with_header("{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }\n", "12345678"));
  EXPECT_TRUE(has(error(), "Fortran"));
  put(with_header("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }\n",
                  "1234567812345678"));
  EXPECT_TRUE(has(error(), "'<f16'"));
  EXPECT_TRUE(has(error(), "integers of 8 to 64 bits, float16"));
  put(with_header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n"));
  EXPECT_TRUE(has(error(), "records"));
  put(with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"));
  EXPECT_TRUE(has(error(), "too large"));
  put(with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}"));
  EXPECT_TRUE(has(error(), "too large"));
  put(with_header("{'shape': (1,"));
  EXPECT_TRUE(has(error(), "no 'descr'"));
}

TEST_F(Npy, mutated_files_are_read_or_refused) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  write_npy(path("b.npy"), {NpyType::kFloat32, {2, 3}}, std::as_bytes(std::span(numbers)));
  const std::string good = bytes_of(path("b.npy"));
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % 80] = static_cast<char>(random());
    if (round % 4 == 0) bytes.resize(random() % bytes.size());
    put(bytes);
    refused += error() != "no error";
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tilewave::formats
