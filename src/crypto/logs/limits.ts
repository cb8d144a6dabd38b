/**
 * Limits of logs that code without elliptic curves also needs. This module imports nothing, so that
 * a start can load it.
 */

/**
 * The maximum number of members. An entry thus has at most 199 rows: one for each member but the
 * actor.
 */
export const MOST_MEMBERS = 200
