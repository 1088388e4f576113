"""What llama.cpp prints about its cache, phrase by phrase."""

from kvdocs.logs.llama_cpp import PHRASES
from kvdocs.site.tables_field import decoder

print(decoder(PHRASES))
