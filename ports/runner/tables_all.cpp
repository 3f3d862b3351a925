// Every kernel and operator of the catalogue.
#include "runner/tables.h"

#include "linnet/build/builder.h"
#include "linnet_catalogue.h"

const linnet::KernelTable& kernel_table() { return *build_table().kernels; }
const linnet::BuildTable& build_table() { return linnet::Build<linnet::all::Kernels, linnet::all::Operators>::table; }
