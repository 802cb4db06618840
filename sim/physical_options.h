// The options are part of the vocabulary, since configurations speak of them.
#include "common/physical_options.h"
