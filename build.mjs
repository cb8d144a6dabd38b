/** Bundle the program and the scripts of the public pages into dist/. */
import { chmod, copyFile, mkdir, readFile } from 'node:fs/promises'
import { build } from 'esbuild'

const { version } = JSON.parse(await readFile('package.json', 'utf8'))

const shared = { bundle: true, minify: false, legalComments: 'none', logLevel: 'warning' }

await mkdir('dist/pages', { recursive: true })
await Promise.all([
  build({
    ...shared,
    entryPoints: ['src/main.ts'],
    outfile: 'dist/countersignd.cjs',
    platform: 'node',
    format: 'cjs',
    // Low enough that an old Node can parse the file and say which Node is needed.
    target: 'node20',
    external: ['@napi-rs/keyring', 'pg-native'],
    banner: { js: '#!/usr/bin/env node' },
    define: { 'import.meta.dirname': '__dirname', BUNDLED_VERSION: JSON.stringify(version) },
  }),
  build({
    ...shared,
    entryPoints: ['src/pages/guest.ts', 'src/pages/stamp.ts'],
    outdir: 'dist/pages',
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    minify: true,
  }),
  copyFile('src/pages/style.css', 'dist/pages/style.css'),
])
await chmod('dist/countersignd.cjs', 0o755)
