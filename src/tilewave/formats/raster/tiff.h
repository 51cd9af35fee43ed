// What reading and writing TIFF files share: handles with their messages, and the tags that say
// where a raster lies, what it shows and who made it.
#pragma once

#include <memory>
#include <string>

#include "tilewave/formats/raster/raster.h"

struct tiff;  // libtiff's

namespace tilewave::formats::detail {

/// The last message of the library, and errno at that time.
struct TiffReport {
  std::string message;
  int error = 0;
};

struct CloseTiff {
  void operator()(tiff* handle) const;
};
using TiffHandle = std::unique_ptr<tiff, CloseTiff>;

/// Null where the library cannot open it; `report` outlives the handle. With a descriptor, of which
/// the handle takes a copy, `path` is a name for messages.
TiffHandle open_tiff_handle(const std::string& path, const char* mode, TiffReport* report,
                            int descriptor = -1);

/// Georeference, metadata, orientation, resolution and declared no-data.
void read_tags(tiff* handle, RasterInfo& info);
void write_tags(tiff* handle, const RasterInfo& info);

}  // namespace tilewave::formats::detail
