/**
 * Builds the console: modules with the hash of their content in their names, compressed once, and
 * its document. The document has a hash of every module, so that a browser runs no other content
 * under these names: its cache may have files of another program that used the port.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build } from 'esbuild'

const OUT = 'dist/console'
const INDEX = 'index.html'
/** The path at which the daemon serves the files. */
const SERVED = '/console/'

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const integrityOf = (content) => `sha256-${createHash('sha256').update(content).digest('base64')}`

/** The icon of every page: three bars for three words. */
const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2453b8"/>' +
      '<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>',
  )

/**
 * Returns the policy of the document (Content Security Policy Level 3). Its import map is the only
 * inline script, and is allowed by its hash.
 */
const policyOf = (importMap) =>
  [
    "default-src 'none'",
    `script-src 'self' '${integrityOf(importMap)}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/** Returns the document. */
async function documentOf(files, entries) {
  const scripts = files.filter(({ name }) => name.endsWith('.js'))
  const importMap = JSON.stringify({
    integrity: Object.fromEntries(
      scripts.map(({ name, content }) => [SERVED + name, integrityOf(content)]),
    ),
  })
  const named = (wanted) => files.find(({ name }) => name === wanted)
  const [style, main] = [named(entries.style), named(entries.main)]
  const values = {
    icon: ICON,
    style: SERVED + style.name,
    styleIntegrity: integrityOf(style.content),
    importMap,
    main: SERVED + main.name,
    mainIntegrity: integrityOf(main.content),
  }
  const template = await readFile('src/console/index.html', 'utf8')
  const text = template.replaceAll(/\{(\w+)\}/g, (_, name) => values[name])
  // The hash is that of everything in the element, also of white space.
  const [, inline] = /<script type="importmap">(.*?)<\/script>/s.exec(text)
  return { csp: policyOf(inline), text }
}

/** Builds the console into dist/console. Returns the result of the bundler. */
export async function buildConsole(options) {
  const result = await build({
    ...options,
    entryPoints: ['src/console/main.tsx', 'src/console/console.css'],
    outdir: OUT,
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    splitting: true,
    write: false,
  })
  const files = result.outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    content: contents,
  }))
  const nameOf = (stem, ext) =>
    files.find(({ name }) => name.startsWith(`${stem}.`) && name.endsWith(ext)).name
  const { csp, text } = await documentOf(files, {
    main: nameOf('main', '.js'),
    style: nameOf('console', '.css'),
  })
  await mkdir(OUT, { recursive: true })
  await Promise.all(
    files.map(async ({ name, content }) =>
      writeFile(`${OUT}/${name}.gz`, await promisify(gzip)(content, { level: 9 })),
    ),
  )
  await writeFile(`${OUT}/${INDEX}`, text)
  const types = Object.fromEntries(
    files.map(({ name }) => [name, { type: TYPES[name.split('.').at(-1)] }]),
  )
  await writeFile(`${OUT}/manifest.json`, JSON.stringify({ csp, index: INDEX, files: types }))
  return result
}
