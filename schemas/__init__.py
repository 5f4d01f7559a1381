"""What a golden file, a case and a report look like: frozen types, JSON Schemas and the errors."""
