/**
 * The console's way in: a code from the command line, which a browser exchanges for a token that is
 * bound to a key of this browser (RFC 9449). The daemon loads this module when a console is opened.
 */
import { type Proof, challenge, nonceRequired } from '../../api/proof-check.ts'
import type { ConsoleCode, ConsoleSession } from '../../api/console/index.ts'
import { timeAt } from '../../api/fields.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Scope } from '../scopes.ts'
import { type Caller, type Tokens, boundDigest, invalidToken } from '../tokens.ts'
import { newConsoleCodes } from './codes.ts'
import { newConsoleProofs } from './proofs.ts'
import { consoleName } from './user-agent.ts'

/** How long a console is valid at most, in seconds. */
const LONGEST_S = 12 * 3600
/** A console ends after so long without a request, in milliseconds. */
const IDLE_MS = 30 * 60_000
/** How long a console has the scope `full`, in milliseconds. */
const FULL_MS = 15 * 60_000

/** A request with a token that is bound to a key. */
interface BoundRequest {
  readonly token: string
  readonly proof?: string | undefined
  readonly method: string
  readonly segments: readonly string[]
  /** The thumbprint of the key, once its proof was verified. */
  proven?: string
}

export interface ConsoleAccess {
  /**
   * Creates a code.
   * @throws AppError `invalid_state` if this process does not listen
   */
  createCode(scope: Scope): ConsoleCode
  /**
   * Records that a browser opened the path of a code. Without it, the code is not accepted: a
   * service worker of another program answered the browser instead of the daemon.
   */
  visited(visit: string): void
  /**
   * Exchanges a code for a token.
   * @param of `proof`: null if the request has none; `userAgent`: the header field of that name
   * @throws AppError `invalid_token` for the proof, `forbidden` for the code
   */
  open(of: {
    readonly code: string
    readonly proof: Proof | null
    readonly userAgent: string | undefined
  }): Promise<ConsoleSession>
  /**
   * Returns the caller that a bound token and its proof authenticate.
   * @throws AppError `invalid_token`
   */
  caller(request: BoundRequest): Promise<Caller>
  /** Returns the nonce that proofs must contain now. */
  nonce(): string
  /** Ends every open code and every console, because a browser asked for a service worker. */
  endAll(): Promise<void>
}

const wrongCode = () =>
  new AppError('forbidden', 'This code is wrong, used or expired. Run "countersignd open" again.')

/** Returns an error for a token, with the challenge of RFC 9449 section 7.1. */
const noConsole = () => {
  const { code, message } = invalidToken('open')
  return new AppError(code, message, { headers: challenge('invalid_token') })
}

/**
 * Creates the way in of a run of the daemon.
 * @param of `address` returns the daemon's address, null if it does not listen; `dropPage` deletes
 *   the file that the command line wrote for the browser; `endLinks` ends the download links of a
 *   token
 */
export function newConsoleAccess(of: {
  readonly tokens: Tokens
  readonly address: () => string | null
  readonly dropPage: () => void
  readonly endLinks: (token: string) => Promise<void>
  readonly now: () => number
  readonly log: Log
}): ConsoleAccess {
  const { tokens, address, now, log } = of
  const codes = newConsoleCodes({ now, onNone: of.dropPage })
  const proofs = newConsoleProofs({ address: () => address() ?? '', now })

  function authenticate(token: string, jkt: string): Caller {
    try {
      return tokens.authenticate(token, boundDigest(token, jkt))
    } catch (error) {
      throw error instanceof AppError && error.code === 'invalid_token' ? noConsole() : error
    }
  }

  return {
    createCode(scope) {
      const here = address()
      if (here === null)
        throw new AppError('invalid_state', 'The daemon does not listen yet. Try again.')
      const { code, visit, until } = codes.create(scope)
      return { code, address: here, visit, expires_at: timeAt(until) }
    },

    visited: (visit) => codes.visited(visit),

    async open({ code, proof, userAgent }) {
      if (proof === null) throw nonceRequired(proofs.nonce())
      // The use of the proof is not recorded, because its code can be used only once.
      const { thumbprint: jkt } = await proofs.verify(proof, null)
      const scope = codes.redeem(code)
      if (scope === null) throw wrongCode()
      const at = now()
      const full_until = scope === 'full' ? at + FULL_MS : null
      const { token, id, expires_at } = tokens.mint(
        { name: consoleName(userAgent), scope, expires_in: LONGEST_S },
        { jkt, idle_ms: IDLE_MS, full_until },
      )
      return {
        token,
        id,
        scope,
        full_until: full_until === null ? null : timeAt(full_until),
        expires_at: expires_at as string,
        idle_s: IDLE_MS / 1000,
        now: timeAt(at),
      }
    },

    async caller(request) {
      const { token, proof: text, method, segments, proven } = request
      if (proven !== undefined) return authenticate(token, proven)
      if (text === undefined) throw nonceRequired(proofs.nonce())
      const proof = { text, method, path: `/${segments.join('/')}` }
      const checked = await proofs.verify(proof, token)
      const { thumbprint } = checked
      request.proven = thumbprint
      return checked.useFor(() => authenticate(token, thumbprint))
    },

    nonce: () => proofs.nonce(),

    async endAll() {
      const ended = codes.endAll()
      const ids = tokens.revokeBound()
      for (const id of ids) await of.endLinks(id)
      if (ended + ids.length === 0) return
      log(
        'warn',
        'ended every console: a browser asked for the script of a service worker, which another program installed on this port. To open a new one, run "countersignd open"',
        { codes: ended, tokens: ids },
      )
    },
  }
}
