"""The loop, the run folder, and what keeps a run safe."""
