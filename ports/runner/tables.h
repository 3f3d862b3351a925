// The kernels and operators of a runner; defined in tables_all.cpp, or by a runner for fewer.
#pragma once
#include "linnet/kernels/table.h"

const linnet::KernelTable& kernel_table();
const linnet::BuildTable& build_table();
