"""The play that ``jobman demo`` shows: its files, its course, its picture, its verdict."""
