# Third-party lookup is by pkg-config (what one protocol alone needs, in its folder): nats.c's CMake configuration is broken in Debian,
# and jansson and libmicrohttpd have none.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.14)
# Three functions that its header does not declare have the form that bus.c expects in every 3.x.
pkg_check_modules(NATS REQUIRED IMPORTED_TARGET libnats>=3.0 libnats<4)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
if(PARLEY_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
