"""Number formats, rounding, the BitGraph and the front ends that train and export networks."""
