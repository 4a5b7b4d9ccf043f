"""Generated edits: a document, an instruction and the text that an editor would want, all from one seed."""
