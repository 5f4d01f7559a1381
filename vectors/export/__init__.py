"""Golden cases for places without HDF5: npz, JSON, CSV and raw little-endian numbers, none of which loses a bit."""
