// In a portable build libtiff is linked statically, without the codec of JBIG (facsimiles of two colours), whose library is under
// the GPL. The linker takes this function instead of libtiff's. It sets no decoder: formats/raster/tiff_read.cc refuses such files
// before one is asked for, in every build.
#include <tiffio.h>

extern "C" {

__attribute__((visibility("hidden"))) int TIFFInitJBIG(TIFF* /*tif*/, int /*scheme*/) { return 1; }
}
