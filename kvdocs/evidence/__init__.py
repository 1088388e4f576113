"""Is it true? The formula is held against what real code does; torch and transformers live here."""
