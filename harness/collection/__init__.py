"""Case files as pytest collectors and items; how they run, and how what they find is recorded."""
