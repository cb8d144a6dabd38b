/**
 * Characters that are not displayed: control characters, line and paragraph separators, and the
 * controls and isolates that change the direction of text (Unicode Standard Annex 9).
 */

/** Their character class, without brackets, for an expression with the `u` flag. */
export const UNSHOWABLE = String.raw`\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069`
