/** The texts of `../api-tokens.ts`. */
import type { Texts } from './text.ts'

export const apiTokenTexts: Texts<'token' | 'apiTokens'> = {
  token: {
    create: {
      summary: 'Create an API token from this machine',
      description:
        'For programs of this user on this machine: refused to browsers and, on Linux, to other users. The token is shown once; its holder acts as the account within its scope until it expires or is revoked.',
    },
  },
  apiTokens: {
    list: {
      summary: 'List API tokens',
      description:
        'The tokens of this daemon, revoked and expired ones included; of a machine account, its own. No answer shows a token again.',
      tool: {
        title: 'List API tokens',
        description:
          'Tokens for programs, with name, scope, state and last use; never the secrets themselves.',
      },
    },
    create: {
      summary: 'Mint an API token',
      description:
        'Mints a token as `POST /api/v1/token` does, but from afar: for a caller that holds a token of scope `full`. The token is shown once.',
      tool: {
        title: 'Create an API token',
        description:
          'Make a token for another program. Answers the secret, once: show it only to who asked, and keep it out of notes and logs. Choose the narrowest scope and a lifetime. Undo by api_tokens_delete.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Revoke an API token, effective at once',
      description:
        'The next request with the token is refused. Its record stays in the list as revoked, and doing it again changes nothing.',
      tool: {
        title: 'Revoke an API token',
        description:
          'End a token at once: the next request with it is refused, yours too if it is the one you use. Not undone: create another.',
        traits: ['takes'],
      },
    },
  },
}
