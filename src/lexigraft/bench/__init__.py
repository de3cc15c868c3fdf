"""`lexigraft bench`: ours and a peer side by side, in time and memory, once their results agree."""
