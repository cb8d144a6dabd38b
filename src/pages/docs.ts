/**
 * Starts the documentation page: an API reference made from this server's own OpenAPI document. The
 * page sends requests only to this server. Values that the user types, above all tokens, are
 * discarded when the tab is closed. This script must load before the library, which reads its
 * settings while it loads.
 */

/** The library, if it was loaded. */
declare const Scalar: {
  createApiReference(target: string, configuration: Readonly<Record<string, unknown>>): unknown
}

// Without this setting, the library's validators would test whether they may create code from text.
// The page's content security policy forbids that and would report it.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })

// Suppressed while the library loads, because it logs its name and version.
const { info } = console
console.info = () => undefined

/**
 * Like `fetch`, but returns HTML responses as plain text. The library would show HTML in a frame,
 * which the page's policy forbids.
 */
async function fetchAsText(input: Request | URL | string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(input, init)
  if (!answer.headers.get('Content-Type')?.startsWith('text/html')) return answer
  const { status, statusText } = answer
  const headers = new Headers(answer.headers)
  headers.set('Content-Type', 'text/plain; charset=utf-8')
  return new Response(answer.body, { status, statusText, headers })
}

// Runs after all scripts of the page are loaded.
document.addEventListener('DOMContentLoaded', () => {
  console.info = info
  Scalar.createApiReference('#reference', {
    url: '/api/v1/openapi.json',
    // The address with which the page was opened. Any other address of this server would be another
    // origin.
    servers: [{ url: location.origin }],
    persistAuth: false,
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    proxyUrl: '',
    customFetch: fetchAsText,
    documentDownloadType: 'json',
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  })
})
