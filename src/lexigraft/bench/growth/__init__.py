"""How time and memory grow with what a user makes larger: vocabulary, length, corpus, plan."""
