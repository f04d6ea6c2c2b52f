"""Use cases that collect, verify and choose routes and issue quotes.

They end when the quote is stored.
"""
