/** Options for tests of a listener that do not test its guard or its scopes. */
import type { ServerOptions } from '../../src/http/server.ts'

/** Longer than a test may take, so a test that waits for it fails. */
export const ENDLESS_MS = 600_000

/** Time-outs of a listener that end nothing in a test. */
export const NO_TIMEOUTS = {
  headers: ENDLESS_MS,
  request: ENDLESS_MS,
  silence: ENDLESS_MS,
  idle: ENDLESS_MS,
} as const

/** A gate that allows every caller every route. */
export const openGate = {
  need: () => 'none' as const,
  authenticate: () => ({ scope: 'read' as const }),
  context: () => null,
}

/** Rules of the guard that accept requests to 127.0.0.1 from every local user. */
export const openRules: ServerOptions['rules'] = (port) => ({
  hosts: new Map([[`127.0.0.1:${port}`, `http://127.0.0.1:${port}`]]),
  navigable: /^$/,
  tokenPaths: [],
  pagePath: null,
  peerAllowed: () => true,
})
