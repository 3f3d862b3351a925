// Besides linnet.h: networks from bare .tflite files, whose Program is built at start-up, in the arena.
//   Model::open(file, model, where), then net.init(model, Build<Kernels, Operators>::table, arena)
#pragma once
#include "linnet/build/builder.h"
#include "linnet/linnet.h"
#include "linnet/model/model.h"
