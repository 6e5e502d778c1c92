# cmake -DINPUT=… -DOUTPUT=… -DFUNCTION=… -DHEADER=… -P EmbedFile.cmake: a C file with a function that returns
# the bytes of INPUT, as HEADER declares it.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "/* Made from a file of web/ by cmake/EmbedFile.cmake. */
#include \"${HEADER}\"
static const unsigned char content[] = {${bytes}};
struct parley_bytes ${FUNCTION}(void) {
    return (struct parley_bytes){(const char *)content, sizeof content};
}
")
