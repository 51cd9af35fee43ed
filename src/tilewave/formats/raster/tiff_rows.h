// The rows of the images in a TIFF file.
//
// A plane (all channels together, or one of several planes) has a handle of its own, which the
// library decodes row after row. Blocks that the file leaves out hold no data. The sizes that the
// library states are compared with ours before anything is read: colours it hands out packed or
// subsampled would otherwise be taken for pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/formats/raster/raster.h"

struct tiff;  // libtiff's

namespace tilewave::formats::detail {

/// What a directory says of its pixels, in the codes of TIFF.
struct TiffShape {
  std::uint32_t width = 0, height = 0, depth = 1;
  std::uint16_t channels = 1, bits = 1, format = 0, compression = 0, photometric = 0;
  bool in_planes = false;

  explicit TiffShape(tiff* handle);
  int plane_channels() const { return in_planes ? 1 : channels; }
};

/// Of samples of so many bits in the TIFF format; throws the error of a file that is not read.
SampleType tiff_sample_type(const std::string& path, unsigned bits, unsigned format);

class TiffPlane;

/// The rows of a directory, channels together.
class TiffRows {
 public:
  TiffRows(const std::string& path, std::uint32_t directory, const TiffShape& shape,
           std::optional<double> nodata);
  ~TiffRows();

  /// Of channels in planes the others are not read.
  void want(const std::vector<int>& channels) { wanted_ = channels; }
  void read_row(unsigned char* to);

 private:
  void open_planes(const std::vector<int>& planes);

  std::string path_;
  std::uint32_t directory_;
  std::optional<double> nodata_;
  std::vector<int> wanted_;  // of planes
  std::size_t sample_;
  std::int64_t width_;
  int channels_;
  bool in_planes_;
  std::vector<std::pair<int, std::unique_ptr<TiffPlane>>> planes_;
  std::vector<unsigned char> row_;
};

}  // namespace tilewave::formats::detail
