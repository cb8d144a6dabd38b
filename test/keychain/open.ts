/**
 * `node open.ts FOLDER CHOICE [get:NAME | set:NAME=SECRET | delete:NAME]…` opens a keychain in the environment it is
 * started in and prints, as JSON, what came of each step: the answer, or the error's code and message.
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
