"""What the pytest plugin does once a run asks for it."""
