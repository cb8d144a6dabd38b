/**
 * How long one test may take, in milliseconds. It is no measure, but a guard against a test that
 * does not end: the runner gives it to `node --test`, which cannot end the children of a test. A
 * suite counts as one test, and the longest takes two minutes on a busy machine.
 */
export const TEST_LIMIT_MS = 300_000

/** How long a test waits for something, in milliseconds: the report then has the reason. */
export const WAIT_LIMIT_MS = TEST_LIMIT_MS * 0.75
