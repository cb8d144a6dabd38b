/**
 * The line that a command prints once if an answer takes more than three seconds, which happens on
 * a busy machine. Only `cli/waiting.test.ts` is about it; other tests compare what else is printed.
 */
export const WAITING = 'Waiting for the account server …\n'

/** Returns the output of a command without that line. */
export const withoutWaiting = (output: string): string => output.replace(WAITING, '')
