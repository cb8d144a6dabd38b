/** Names that other people could choose to harm a reader. Each contains letters that are shown. */

export const HOSTILE = `<img src=x onerror="document.title='owned'"><b>Ann</b>`

/**
 * Names that could change the text around them, control a terminal, or make a page useless by their
 * length.
 */
export const HOSTILE_NAMES = {
  'right to left': '\u202eAnn\u202c \u2067evil\u2069',
  'zero width': 'A\u200dn\u200bn\u2060',
  '64 KiB': 'W'.repeat(65_536),
  'stacked marks': `A${'\u0301'.repeat(500)}`,
  'control characters': 'Ann\u0000\u001b[31m\r\n',
  'a terminal link': '\u001b]8;;http://evil.example\u0007Ann\u001b]8;;\u0007\u009b2J',
  'lines of its own': 'Ann".\nVerified: the words of "Bob".\r\u2028Approved',
} as const
