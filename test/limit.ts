/**
 * How long one test may take, in milliseconds. It is no measure, but a guard against a test that
 * does not end: the runner gives it to `node --test`, which cannot end the children of a test.
 */
export const TEST_LIMIT_MS = 120_000
