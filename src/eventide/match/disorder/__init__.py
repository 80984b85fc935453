"""The disorder-native operator: sequences matched in the order of arrival (li.md 3.4)."""
