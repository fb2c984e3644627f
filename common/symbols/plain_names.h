/*
 * Names that are not mangled, but say more than the source does, or write it differently: what
 * compilers append to parts and copies of a function, and names of Fortran, OCaml and Haskell.
 * Rules apply only where no name of C looks like that. Pure.
 */
#ifndef COMMON_SYMBOLS_PLAIN_NAMES_H
#define COMMON_SYMBOLS_PLAIN_NAMES_H

#include "common/base.h"

/*
 * The length of a symbol without what gcc, clang and linkers append to a part or a copy of the
 * function: "f.cold", "f.part.0", "f.constprop.0.isra.0", "f.llvm.123". Never 0 unless len is.
 */
size_t plain_name_without_parts(const char *name, size_t len);

/*
 * Writes the readable form of a name of these languages, cut to cap bytes, and returns the length
 * of the whole; 0 if it is not one of them:
 *
 *	__heat_MOD_step                      heat::step (gfortran: module and procedure)
 *	camlStdlib__List__map_271            Stdlib.List.map (OCaml; the number is the compiler's)
 *	base_GHCziBase_zpzp_info             GHC.Base.++ (GHC's z-encoding, without the package)
 */
size_t plain_name_read(const char *name, size_t len, char *to, size_t cap);

#endif /* COMMON_SYMBOLS_PLAIN_NAMES_H */
