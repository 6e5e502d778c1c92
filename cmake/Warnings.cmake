# The compiler's help, for every target of ours; and the sanitizers, which must be everywhere or
# nowhere.
add_library(parley_flags INTERFACE)
target_compile_options(parley_flags INTERFACE
  -Wall -Wextra -pedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wwrite-strings -Wcast-align -Wpointer-arith -Wundef -Wvla -Wredundant-decls
  $<$<BOOL:${PARLEY_WERROR}>:-Werror>
  -fno-common -fstack-protector-strong
  $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
target_compile_definitions(parley_flags INTERFACE _GNU_SOURCE)
target_link_options(parley_flags INTERFACE -Wl,-z,relro,-z,now)

if(PARLEY_SANITIZE)
  add_compile_options(-fsanitize=${PARLEY_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<NOT:$<CONFIG:Debug>>:-g1>)
  add_link_options(-fsanitize=${PARLEY_SANITIZE})
  # Of binutils, as the usual linker, which takes twice as long; and more than a hundred tests are
  # linked.
  find_program(PARLEY_LD_GOLD ld.gold)
  if(PARLEY_LD_GOLD AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_link_options(-fuse-ld=gold)
  endif()
endif()
