/**
 * Bundles the program and the scripts of the public pages into dist/. Only the part that a daemon
 * needs to listen is loaded at the start. Other parts and libraries are files that are loaded at
 * first use.
 */
import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build } from 'esbuild'
import { buildConsole } from './build/console.mjs'
import { folderOf } from './build/packages.mjs'
import { bundleParts } from './build/parts.mjs'

const manifest = JSON.parse(await readFile('package.json', 'utf8'))

/**
 * Returns the commit of the sources, with a `+` if they differ from it; empty outside a clone.
 */
function commitHere() {
  try {
    const git = (...words) =>
      execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
    return git('rev-parse', '--short=12', 'HEAD') + (isChanged ? '+' : '')
  } catch {
    return ''
  }
}

/** The libraries by the name that the sources import. */
const LIBRARIES = {
  '@noble/curves/ed25519.js': 'curves',
  '@valibot/to-json-schema': 'json-schema',
  hpke: 'hpke',
  kysely: 'kysely',
  nodemailer: 'nodemailer',
  pg: 'pg',
  'prom-client': 'prom-client',
  qr: 'qr',
  yazl: 'yazl',
}

/**
 * Returns a plugin that leaves a module out of a bundle. `find` returns the path of the file to
 * require instead.
 */
const apart = (name, filter, find) => ({
  name,
  setup: ({ onResolve }) =>
    onResolve({ filter }, ({ path }) => {
      const found = find(path)
      return found === undefined ? undefined : { path: found, external: true }
    }),
})

// `src/runtime/program.ts` loads the program, so its sources are not in the first file.
const program = apart('program', /^\.\/cli\/run\.ts$/, () => './program.cjs')
const libraries = apart('libraries', /^[^.]/, (path) =>
  path in LIBRARIES ? `./lib/${LIBRARIES[path]}.cjs` : undefined,
)
/**
 * The used part of the Model Context Protocol's SDK: two modules of one package, so they are one
 * library.
 */
const SDK = 'src/api/tools/sdk.ts'
const sdk = apart('sdk', /^[./]+\/(api\/tools\/)?sdk\.ts$/, () => './lib/mcp.cjs')

/** The texts of the rows and the recorded examples, which only documents and tools need. */
const TEXTS = 'src/api/rest/texts/index.ts'
const documents = apart(
  'documents',
  /\/(openapi\/examples\.json|rest\/texts\/index\.ts)$/,
  (path) => (path.endsWith('.json') ? './lib/examples.json' : './lib/texts.cjs'),
)

/**
 * The Unicode of expressions is that of Node. Otherwise, the bundler would create each expression
 * at the start, also those of packages that the program does not use.
 */
const UNICODE = { 'regexp-unicode-property-escapes': true }

/**
 * Leaves an unused interface out of each of valibot's schemas: an object and a function, a tenth of
 * the memory of a program with many schemas.
 * @see https://standardschema.dev
 */
const withoutStandardSchema = {
  name: 'without-standard-schema',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/valibot\/dist\/index\.mjs$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const [found, head] = /(function _standardSchema\(schema\) \{\n)[^]*?\n\}/.exec(text) ?? []
      if (found === undefined) throw new Error(`${path} has no function _standardSchema to replace`)
      return { contents: text.replace(found, `${head}\treturn schema;\n}`) }
    }),
}

const shared = {
  bundle: true,
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
}
const node = {
  ...shared,
  platform: 'node',
  format: 'cjs',
  target: 'node24',
  external: ['@napi-rs/keyring', 'pg-native'],
  // As require(): import() of a bundle would load Node's ESM loader for nothing.
  supported: { 'dynamic-import': false, ...UNICODE },
  define: {
    'import.meta.dirname': '__dirname',
    BUNDLED_VERSION: JSON.stringify(manifest.version),
    BUNDLED_COMMIT: JSON.stringify(commitHere()),
  },
}

/** As `src/runtime/program.ts` compiles a file: a large text should not be copied into another. */
const script = {
  banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
  footer: { js: '})' },
  charset: 'ascii',
}

/** Writes the assistant's sources as one file: texts by name. */
async function bundleHandbook() {
  const docs = (await readdir('docs')).filter((name) => name.endsWith('.md')).toSorted()
  const names = ['README.md', ...docs.map((name) => `docs/${name}`)]
  const texts = await Promise.all(names.map((name) => readFile(name, 'utf8')))
  const handbook = Object.fromEntries(names.map((name, at) => [name, texts[at]]))
  await writeFile('dist/handbook.json', JSON.stringify(handbook))
}

/** Copies the recorded examples without white space. */
async function copyExamples() {
  const examples = JSON.parse(await readFile('src/api/openapi/examples.json', 'utf8'))
  await mkdir('dist/lib', { recursive: true })
  await writeFile('dist/lib/examples.json', JSON.stringify(examples))
}

/**
 * Compresses the library of the documentation page, which is large, as most browsers accept it.
 */
async function compressReference() {
  const folder = await folderOf('@scalar/api-reference')
  const library = await readFile(join(folder, 'dist/browser/standalone.js'))
  await writeFile('dist/pages/reference.js.gz', await promisify(gzip)(library, { level: 9 }))
}

// The names of its files change with their content, so those of an earlier build would stay.
await rm('dist/console', { recursive: true, force: true })
await mkdir('dist/pages', { recursive: true })
const built = await Promise.all([
  bundleParts({
    options: node,
    plugins: [libraries, sdk, documents, withoutStandardSchema],
    // For readable stack traces: node --enable-source-maps.
    output: { ...script, sourcemap: 'linked' },
  }),
  build({
    ...node,
    ...script,
    entryPoints: Object.entries({ ...LIBRARIES, [SDK]: 'mcp', [TEXTS]: 'texts' }).map(
      ([name, file]) => ({
        in: name,
        out: file,
      }),
    ),
    outdir: 'dist/lib',
    outExtension: { '.js': '.cjs' },
  }),
  build({
    ...shared,
    entryPoints: ['src/pages/guest.ts', 'src/pages/stamp.ts'],
    outdir: 'dist/pages',
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
  }),
  build({
    ...shared,
    entryPoints: ['src/pages/docs.ts'],
    outdir: 'dist/pages',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
  }),
  build({
    ...shared,
    entryPoints: ['src/pages/style.css', 'src/pages/docs.css'],
    outdir: 'dist/pages',
    target: 'es2022',
  }),
  buildConsole(shared),
  compressReference(),
  copyExamples(),
  bundleHandbook(),
])

/** Returns the scripts in dist/ that `src/runtime/program.ts` loads. */
async function scripts() {
  const names = (await readdir('dist/lib')).filter((name) => name.endsWith('.cjs')).toSorted()
  return ['dist/program.cjs', ...names.map((name) => `dist/lib/${name}`)]
}

const digest = createHash('sha256')
for (const path of await scripts()) {
  const bytes = await readFile(path)
  // They are read as latin1. The bundler escapes all text except in regular expressions and
  // templates.
  if (bytes.some((byte) => byte > 127))
    throw new Error(
      `${path} is not ASCII: escape what is not, in a regular expression or a template.`,
    )
  digest.update(bytes)
}
const programBuild = digest.digest('hex').slice(0, 16)
await build({
  ...node,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/countersignd.cjs',
  // Low enough that an old Node can parse the file and print which Node is needed.
  target: 'node20',
  banner: { js: '#!/usr/bin/env node' },
  plugins: [program],
  define: {
    ...node.define,
    PROGRAM_BUILD: JSON.stringify(programBuild),
  },
})
await chmod('dist/countersignd.cjs', 0o755)

// Code caches of earlier builds are useless for this one.
for (const folder of ['dist', 'dist/lib'])
  for (const name of await readdir(folder))
    if (name.endsWith('.cache') && !name.includes(programBuild)) await rm(`${folder}/${name}`)

/** The paths of the files in the bundles. */
export const bundledFiles = built.flatMap((result) => Object.keys(result?.metafile?.inputs ?? {}))
