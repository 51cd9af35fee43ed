-- Lmod module of an installation made with cmake --install build/release --prefix PREFIX, or of the unpacked archive. The prefix is
-- two folders above: PREFIX/modulefiles/tilewave/0.1.0.lua; set it here where the file lies elsewhere.
local prefix = pathJoin(myFileName():match("(.*)/modulefiles/tilewave/[^/]*$") or "/opt/tilewave/0.1.0")

help([[Tilewave: quantum circuits, error-correction sampling, local entropy and fused maps.
tilewave doctor says what this machine lacks; man tilewave-run, tilewave help.]])
whatis("Name: Tilewave")
whatis("Version: 0.1.0")
whatis("Category: quantum circuit simulator")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share", "man"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib", "pkgconfig"))
