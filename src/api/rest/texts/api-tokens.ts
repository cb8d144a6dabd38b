/** The texts of `../api-tokens.ts`. */
import type { Texts } from './text.ts'

export const apiTokenTexts: Texts<'token' | 'apiTokens'> = {
  token: {
    create: {
      summary: 'Create an API token from this machine',
      description:
        'Only programs of this user on this machine may do this. Browsers are refused and, on Linux, other users too. The token is shown only once. A program that has the token can act as the account, within the scope of the token, until the token expires or is revoked.',
    },
  },
  apiTokens: {
    list: {
      summary: 'List API tokens',
      description:
        'Lists the tokens of this daemon, including revoked and expired tokens. A machine account sees its own tokens. The secrets of the tokens are never shown again.',
      tool: {
        title: 'List API tokens',
        description:
          'Lists the tokens for programs, with name, scope, state and last use, but never the secrets themselves.',
      },
    },
    create: {
      summary: 'Create an API token',
      description:
        'Creates a token like `POST /api/v1/token`, but for any caller that has a token of scope `full`, also from another machine. The new token is shown only once.',
      tool: {
        title: 'Create an API token',
        description:
          'Create a token for another program. Returns the secret once: show it only to the person who asked, and never put it in notes or logs. Choose the narrowest scope and a lifetime. Undo with api_tokens_delete.',
        traits: ['again'],
      },
    },
    delete: {
      summary: 'Revoke an API token, effective immediately',
      description:
        'The next request with the token is refused. The token stays in the list as revoked. Repeating the call changes nothing.',
      tool: {
        title: 'Revoke an API token',
        description:
          'Revoke a token immediately: the next request with it is refused. If it is the token that you use, your own calls fail too. Cannot be undone; create a new token instead.',
        traits: ['takes'],
      },
    },
  },
}
