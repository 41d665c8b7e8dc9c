"""The live view: what is shown (pure), and the terminal application that shows it.

``parts`` says which rows and cells an overview of the home has, ``fit`` how they are laid out, and
``once`` prints them. Only ``app`` and what it imports know Textual.
"""
