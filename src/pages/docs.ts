/**
 * The start of the documentation page: the reference over this server's own document. It asks nobody but this server, and what is
 * typed into it, tokens above all, ends with the tab. It is loaded before the library, which reads what is set here as it comes.
 */

/** The library, where it came. */
declare const Scalar: {
  createApiReference(target: string, configuration: Readonly<Record<string, unknown>>): unknown
}

// Its validators would try whether they may make code of text, which the page's policy forbids and reports.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })

// It says its name and version as it comes.
const { info } = console
console.info = () => undefined

/** As `fetch`, but a page that is answered is text: the policy frames none. */
async function fetchAsText(input: Request | URL | string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(input, init)
  if (!answer.headers.get('Content-Type')?.startsWith('text/html')) return answer
  const { status, statusText } = answer
  const headers = new Headers(answer.headers)
  headers.set('Content-Type', 'text/plain; charset=utf-8')
  return new Response(answer.body, { status, statusText, headers })
}

// When all scripts of the page have come.
document.addEventListener('DOMContentLoaded', () => {
  console.info = info
  Scalar.createApiReference('#reference', {
    url: '/api/v1/openapi.json',
    // By the name under which the page was opened: another one would be another origin.
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
