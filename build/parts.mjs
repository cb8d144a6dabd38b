/**
 * Divides the program into parts: files that are each loaded as a whole. The first part has the
 * modules that a daemon needs to answer, and the second those of an idle daemon: a sync without
 * news, and the deletion of old rows. Each other part has the modules of one subject. A part is
 * loaded when a module of it is first imported.
 */
import { realpath } from 'node:fs/promises'
import { posix, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'

/** The modules of src/ that the first part has, with everything that they import statically. */
const FIRST = [
  'cli/run.ts',
  'cli/commands/serve.ts',
  'daemon/daemon.ts',
  'daemon/embedded.ts',
  'handlers/status.ts',
]
const FIRST_PART = 'program.cjs'

/** The modules that the second part has in the same way. */
const SYNC = [
  'device/sync/hint-follower.ts',
  'device/sync/lists.ts',
  'service/accounts/account-record.ts',
  'service/accounts/public-code-rows.ts',
  'service/connections/connections.ts',
  'service/connections/invitation-ends.ts',
  'service/connections/invitations.ts',
  'service/connections/pending-work.ts',
  'service/devices/key-logs.ts',
  'service/devices/listed-devices.ts',
  'service/exports/building.ts',
  'service/exports/exports.ts',
  'service/guests/guest-code-ends.ts',
  'service/guests/guest-codes.ts',
  'service/hints/changes.ts',
  'service/hints/hints.ts',
  'service/links/open-link-requests.ts',
  'service/mail/notices.ts',
  'service/retention.ts',
  'service/trust/cards.ts',
]
const SYNC_PART = 'lib/sync.cjs'

/** The other parts: a chunk belongs to the first one that accepts a module in it. */
const SUBJECTS = [
  ['commands', /^cli\//],
  ['names', /^api\/naming\//],
  ['documents', /^(api\/(openapi|tools)|handlers\/(agents|docs))\//],
  ['account', /^(service|languages)\//],
  ['desktop', /^desktop\//],
  ['device', /^/],
]

/**
 * Returns the chunks of the program. A chunk has modules that are always needed together, and its
 * exports are only those that other chunks use.
 */
async function chunksOf(options, plugins) {
  const outdir = 'chunks'
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: [`src/${FIRST[0]}`],
    outdir,
    write: false,
    splitting: true,
    format: 'esm',
    // Parts are loaded by require(), but the chunks of a part by import.
    supported: { ...options.supported, 'dynamic-import': true },
    // The parts are minified.
    minify: false,
    minifySyntax: true,
    sourcemap: 'inline',
    plugins,
  })
  const nameOf = (path) => posix.relative(outdir, path)
  // The bundler resolves links.
  const src = await realpath('src')
  const moduleOf = (path) => relative(src, resolve(path)).replaceAll(sep, '/')
  const chunks = Object.entries(metafile.outputs).map(([path, output]) => ({
    name: nameOf(path),
    text: outputFiles.find((file) => file.path.endsWith(`/${path}`)).text,
    entry: output.entryPoint === undefined ? null : moduleOf(output.entryPoint),
    exports: output.exports,
    modules: [output.entryPoint ?? '', ...Object.keys(output.inputs)].map(moduleOf),
    imports: output.imports
      .filter(({ external }) => external !== true)
      .map(({ path: imported, kind }) => ({ name: nameOf(imported), kind })),
  }))
  return { chunks, metafile }
}

/** Returns the names of the chunks with these modules, and of all that they import statically. */
function closureOf(modules, chunks) {
  const byName = new Map(chunks.map((chunk) => [chunk.name, chunk]))
  const names = new Set(
    chunks.filter(({ entry }) => modules.includes(entry)).map(({ name }) => name),
  )
  for (const name of names)
    for (const imported of byName.get(name).imports)
      if (imported.kind === 'import-statement') names.add(imported.name)
  return names
}

/** Returns the file of each chunk's part, by the chunk's name. */
function partsOf(chunks) {
  const [first, sync] = [FIRST, SYNC].map((modules) => closureOf(modules, chunks))
  const subjectOf = ({ modules }) =>
    SUBJECTS.find(([, accepts]) => modules.some((module) => accepts.test(module)))[0]
  const partOf = (chunk) => {
    if (first.has(chunk.name)) return FIRST_PART
    return sync.has(chunk.name) ? SYNC_PART : `lib/${subjectOf(chunk)}.cjs`
  }
  return new Map(chunks.map((chunk) => [chunk.name, partOf(chunk)]))
}

/**
 * Returns the text of a module that makes a chunk available to other parts. It is evaluated when
 * another part first needs the chunk: the bundler's own object of exports would be filled at the
 * start, for each chunk.
 */
function offerOf({ name, exports }) {
  const names = exports.map((exported, at) => [exported, `member${at}`])
  const imports = names.map(([exported, local]) => `${exported} as ${local}`)
  // With this mark, the bundler reads the default export as a member.
  const members = [
    '__esModule: true',
    ...names.map(([exported, local]) => `get ${exported}() { return ${local} }`),
  ]
  return `import offered from 'offered'
    import { ${imports.join(', ')} } from './${name}'
    offered['${name}'] = { ${members.join(', ')} }`
}

/**
 * Returns the plugin that finds the chunks of a part. A chunk of another part is required by the
 * name of its file and its own, as `src/runtime/program.ts` accepts it.
 */
const within = (part, chunks, files) => ({
  name: 'within',
  setup({ onResolve, onLoad }) {
    const chunkOf = (path) => chunks.find(({ name }) => name === path)
    onResolve({ filter: /^\.\/.*\.(cjs|json)$/ }, ({ path }) => ({ path, external: true }))
    onResolve({ filter: /^\..*\.js$/ }, ({ path, importer }) => {
      const name = posix.join(posix.dirname(importer), path)
      return files.get(name) === part
        ? { path: name, namespace: 'chunk' }
        : { path: `./${files.get(name)}#${name}`, external: true }
    })
    onResolve({ filter: /^offer:/ }, ({ path }) => ({
      path: path.slice('offer:'.length),
      namespace: 'offer',
    }))
    onResolve({ filter: /^offered$/ }, ({ path }) => ({ path, namespace: 'offered' }))
    onLoad({ filter: /^/, namespace: 'chunk' }, ({ path }) => ({ contents: chunkOf(path).text }))
    onLoad({ filter: /^/, namespace: 'offer' }, ({ path }) => ({
      contents: offerOf(chunkOf(path)),
    }))
    onLoad({ filter: /^/, namespace: 'offered' }, () => ({ contents: 'module.exports = {}' }))
  },
})

/**
 * Returns the text of a part's entry point: its chunks by name. A chunk is evaluated when it is
 * first read, so parts may need each other.
 * @param main the chunk with the program's entry point, if it is in this part
 */
function entryOf(names, main) {
  const chunks = names.map(
    (name) => `get '${name}'() { require('offer:${name}'); return offered['${name}'] },`,
  )
  if (main !== undefined) chunks.push(`get run() { return this['${main}'].run },`)
  return `const offered = require('offered')\nmodule.exports = {\n${chunks.join('\n')}\n}`
}

/**
 * Bundles the program into `dist/program.cjs` and one file in `dist/lib/` for each other part.
 * @param of `options`: those of both steps of the bundler; `plugins`: those of the first step;
 *   `output`: options of the parts
 * @returns the module's files and the names of the parts
 */
export async function bundleParts({ options, plugins, output }) {
  const { chunks, metafile } = await chunksOf(options, plugins)
  const files = partsOf(chunks)
  const main = chunks.find(({ entry }) => entry === FIRST[0]).name
  const wanted = new Set([
    main,
    ...chunks.flatMap(({ name, imports }) =>
      imports.filter((to) => files.get(to.name) !== files.get(name)).map((to) => to.name),
    ),
  ])
  const parts = [...new Set(files.values())]
  await Promise.all(
    parts.map((part) => {
      const names = [...wanted].filter((name) => files.get(name) === part)
      return build({
        ...options,
        ...output,
        stdin: {
          contents: entryOf(names, part === FIRST_PART ? main : undefined),
          resolveDir: '.',
        },
        outfile: `dist/${part}`,
        plugins: [within(part, chunks, files)],
      })
    }),
  )
  return { metafile, parts }
}
