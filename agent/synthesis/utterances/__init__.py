"""Task descriptions: templates with slots, and the values and elements that they mention."""
