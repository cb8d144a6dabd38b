/** Options for tests of a listener that do not test its guard or its scopes. */
import type { ServerOptions } from '../../src/http/server.ts'

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
  tokenPath: null,
  peerAllowed: () => true,
})
