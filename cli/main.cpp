#include "cli/verbs.h"

int main(int argc, char** argv) { return linnet::cli::run_command(argc, argv); }
