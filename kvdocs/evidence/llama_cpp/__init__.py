"""llama.cpp: contexts that its library really allocates."""
