/**
 * Generates dist/api.d.ts, or the file given as argument: the types of the interface. They have
 * the form that openapi-fetch and similar clients use, and come from the OpenAPI document. Also
 * writes device-api.json beside it: the document of the routes that a device calls on an account
 * server.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { rest } from './src/api/rest/index.ts'
import { ACCOUNT_RULES, REST_RULES, scopeTable } from './src/auth/scopes.ts'
import { deviceDocument } from './src/api/openapi/device.ts'
import { openapiDocument } from './src/api/openapi/document.ts'

// openapi-typescript prints with the compiler API of TypeScript 5. The compiler that checks this
// project has no such API.
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
})
const { astToString, default: openapiTypes } = await import('openapi-typescript')

const { version } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'))
const document = openapiDocument({ table: rest, version, need: scopeTable(REST_RULES) })
const types = astToString(await openapiTypes(JSON.stringify(document)))
const [, , file = 'dist/api.d.ts'] = process.argv
await mkdir(dirname(file), { recursive: true })
await writeFile(file, `/** Countersign ${version}, as its OpenAPI document says. */\n\n${types}`)
await writeFile(
  join(dirname(file), 'device-api.json'),
  `${JSON.stringify(deviceDocument(scopeTable(ACCOUNT_RULES)), null, 2)}\n`,
)
