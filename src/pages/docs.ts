/**
 * The start of the documentation page: the API reference over this server's own document. The
 * page sends requests to this server only. Typed values, tokens above all, are dropped when the
 * tab is closed. This script must load before the library, which reads its settings while
 * loading.
 */

/** The library, if it was loaded. */
declare const Scalar: {
  createApiReference(target: string, configuration: Readonly<Record<string, unknown>>): unknown
}

// The library's validators would test whether they may create code from text, which the page's
// policy forbids and reports.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })

// The library logs its name and version while loading.
const { info } = console
console.info = () => undefined

/** Like `fetch`, but an HTML response becomes text, since the policy allows no frames. */
async function fetchAsText(input: Request | URL | string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(input, init)
  if (!answer.headers.get('Content-Type')?.startsWith('text/html')) return answer
  const { status, statusText } = answer
  const headers = new Headers(answer.headers)
  headers.set('Content-Type', 'text/plain; charset=utf-8')
  return new Response(answer.body, { status, statusText, headers })
}

// When all scripts of the page are loaded.
document.addEventListener('DOMContentLoaded', () => {
  console.info = info
  Scalar.createApiReference('#reference', {
    url: '/api/v1/openapi.json',
    // The address with which the page was opened: any other one would be another origin.
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
