// In a portable build libtiff is linked statically, without the codec of JBIG (facsimiles of two colours), whose library is under
// the GPL. The linker takes this function instead of libtiff's. It sets no decoder, so that reading such a file ends with libtiff's own
// "ISO JBIG scanline decoding is not implemented".
#include <tiffio.h>

extern "C" {

__attribute__((visibility("hidden"))) int TIFFInitJBIG(TIFF* /*tif*/, int /*scheme*/) { return 1; }
}
