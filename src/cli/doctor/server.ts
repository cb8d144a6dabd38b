/** Checks that the account server answers and reports the configured URL as its public one. */
import { fail, ok, shellWord } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'account server'

/**
 * Returns the remedy. The errors name their own; this command lets the operator see the answer.
 */
const seen = (url: string) => `Check the answer yourself: curl -sS ${url}/health`

export const serverCheck: DoctorCheck = {
  name: NAME,
  async run({ config, server: asked, holding }: DoctorContext) {
    const { backendUrl: url } = config
    if (url === undefined) return []
    if (url === null || asked === null) {
      const { state } = await holding()
      return [
        ok(
          NAME,
          state === 'proven'
            ? 'embedded in the running daemon'
            : 'embedded; it starts with the daemon',
        ),
      ]
    }
    const look = await asked()
    if (!look.reached) return [fail(NAME, look.why, seen(url))]
    const own = URL.parse(look.publicUrl)?.origin
    if (own !== url)
      return [
        fail(
          NAME,
          `${url} reports ${own === undefined ? 'no public address' : `the public address ${own}`}, and accepts sign-ins only at its public address`,
          own === undefined
            ? 'The operator of the account server must set SVC_PUBLIC_URL.'
            : `export SVC_BACKEND_URL=${shellWord(own)} (or the operator of the account server must set SVC_PUBLIC_URL)`,
        ),
      ]
    return [ok(NAME, `${url}, version ${look.version}, answered in ${look.tookMs} ms`)]
  },
}
