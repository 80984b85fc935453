"""The disorder-native operator: sequences matched in the order of arrival (Li 2010, 4.5)."""
