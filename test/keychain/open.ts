/**
 * Opens a keychain in the environment of the process and runs steps on it.
 * Usage: `node open.ts FOLDER CHOICE [get:NAME | set:NAME=SECRET | delete:NAME]…`
 * Prints the result of each step as JSON: the answer, or the code and message of the error.
 */
import { AppError, StartError } from '../../src/errors.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'

const [stateDir = '', choice, ...steps] = process.argv.slice(2)

async function main(): Promise<unknown> {
  const keychain = await openKeychain({
    stateDir,
    choice: choice as 'auto' | 'os' | 'file',
    credentialsDir: null,
  })
  const answers = steps.map((step) => {
    const [, verb, name = '', secret = ''] = /^(\w+):([^=]*)=?(.*)$/.exec(step) ?? []
    try {
      if (verb === 'get') return keychain.get(name)
      if (verb === 'set') keychain.set(name, secret)
      else keychain.delete(name)
      return 'done'
    } catch (error) {
      return error instanceof AppError ? error.code : String(error)
    }
  })
  return { backend: keychain.backend, answers }
}

const result = await main().catch((error: unknown) =>
  error instanceof StartError
    ? { exit: error.exit, message: error.message }
    : { message: String(error) },
)
console.log(JSON.stringify(result))
