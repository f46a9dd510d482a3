-- New rows have the code of the reason in "reason" and its text here. Rows of the version before have the text in "reason".
ALTER TABLE failure ADD COLUMN text text;
