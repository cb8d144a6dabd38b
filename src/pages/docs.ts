/**
 * The script of the documentation page. If the address has the fragment of a route, it shows the
 * interactive reference, made from this server's own OpenAPI document. The page sends requests only
 * to this server. Values that the user types, above all tokens, are discarded when the tab is
 * closed.
 */
import { element } from './element.ts'

/** The library, if it was loaded. */
declare const Scalar: {
  createApiReference(target: string, configuration: Readonly<Record<string, unknown>>): unknown
}

/** Where the library is, and its hash (Subresource Integrity). */
const { reference = '', integrity = '' } = (document.currentScript as HTMLScriptElement).dataset

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

/** Loads the library, which reads its settings while it loads. */
function load(): Promise<unknown> {
  // Without this setting, the library's validators would test whether they may create code from
  // text. The page's content security policy forbids that and would report it.
  Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })
  const script = Object.assign(document.createElement('script'), { src: reference, integrity })
  const loaded = new Promise((resolve, reject) => {
    script.addEventListener('load', resolve)
    script.addEventListener('error', reject)
  })
  document.head.append(script)
  return loaded
}

async function showReference(): Promise<void> {
  const loading = element('loading', HTMLSpanElement)
  loading.textContent = 'Loading the reference …'
  // The library logs its name and version.
  const { info } = console
  console.info = () => undefined
  try {
    await load()
  } catch {
    loading.textContent = 'The reference cannot be loaded. Reload the page.'
    return
  } finally {
    console.info = info
  }
  element('list', HTMLDivElement).hidden = true
  element('reference', HTMLDivElement).hidden = false
  Scalar.createApiReference('#reference', {
    url: '/api/v1/openapi.json',
    // The address with which the page was opened. Any other address of this server would be another
    // origin.
    servers: [{ url: location.origin }],
    theme: 'none',
    persistAuth: false,
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    // The colours follow the system, as on every page.
    hideDarkModeToggle: true,
    hideClientButton: true,
    showDeveloperTools: 'never',
    proxyUrl: '',
    customFetch: fetchAsText,
    documentDownloadType: 'json',
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  })
}

let isShown = false

/** Shows the reference for a fragment that is not in the list, and the list for no fragment. */
function follow(): void {
  const fragment = decodeURIComponent(location.hash.slice(1))
  // The library cannot be removed from the page.
  if (isShown && fragment === '') location.reload()
  if (isShown || fragment === '' || document.getElementById(fragment) !== null) return
  isShown = true
  void showReference()
}

addEventListener('hashchange', follow)
document.addEventListener('DOMContentLoaded', follow)
