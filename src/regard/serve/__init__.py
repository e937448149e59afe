"""A translation server for the clients of LibreTranslate, DeepL and OpenAI."""
