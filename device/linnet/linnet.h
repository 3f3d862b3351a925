// All that a firmware includes: the interpreter for Programs. For bare .tflite files include linnet/model.h as well.
#pragma once
#include "linnet/engine/interpreter.h"
#include "linnet/kernels/table.h"
