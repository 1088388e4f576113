"""The engines of this guide and vLLM: its planner, its scheduler, its kernels, run on a CPU."""
