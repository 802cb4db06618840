// Only to have something to precompile headers for.
