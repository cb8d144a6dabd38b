/** Descriptions of the routes that the daemon answers by itself. */
import type { Rest } from '../../rest/index.ts'
import type { Descriptions } from './descriptions.ts'

export const daemon: Descriptions<
  Pick<
    Rest,
    | 'health'
    | 'status'
    | 'sync'
    | 'token'
    | 'openapi'
    | 'docs'
    | 'tools'
    | 'verify'
    | 'stamp'
    | 'verificationLog'
    | 'apiTokens'
    | 'chat'
    | 'feedback'
  >
> = {
  health: {
    read: 'Answers as long as the process serves requests, signed in or not, and asks no other server: fit for a probe every second.',
  },
  status: {
    read: 'Whether this device is signed in, the address of the account server and whether it answers, and the time of the last sync. It answers within half a second also while the account server is away. What does not apply to a machine account is null.',
  },
  sync: {
    read: 'The result of the last sync, from any cause; starts none. `last_sync` is null until the first one ended.',
    run: 'Fetches what others changed and hands over what waits here, and answers when that is done: members who approved are taken in, secrets are sealed to new devices. It happens by itself every quarter of an hour, and at once after an act that other devices answer. A sync that fails is answered as an error, 502 to 504 where the account server is the cause; `GET` still has its report.',
  },
  token: {
    create:
      'For programs of this user on this machine: refused to browsers and, on Linux, to other users. The token is shown once; its holder acts as the account within its scope until it expires or is revoked.',
  },
  openapi: {
    read: 'The same for all callers. Generate a typed client from it, or open /api/v1/docs, which reads it.',
  },
  docs: {
    read: 'For people: search, every operation with its example and errors, and a form to try it with a token that you paste. It loads nothing from elsewhere.',
  },
  tools: {
    catalogue:
      'One operation under /api/v1/tools/ for each route that a model may call; the end of the account is none of them. For assistants that take an OpenAPI document rather than MCP.',
  },
  verify: {
    words:
      'Compares the words with those of all your contacts, for this minute and its neighbours, and counts right words as used. With `expect`, only with those of one connection or person; words of other speakers are then answered like wrong ones. The words do not leave the machine. After 20 wrong tries of a token in a minute, or 60 of all tokens together, it answers 429; after 100 in a row of a token, or 300 of all tokens, each further one begins a pause of 1, 2, 4 … 60 minutes, until right words end the row. With `old_epoch` the words are from before a routine change of the secret, at most 7 days ago: no proof, and the other side has to open the app and say new ones. With `challenge_id`, as the answer to that challenge, by the connection it is for; it takes one try, and a failure means different words, person or purpose.',
    challenge:
      'For a call in which the listener and the purpose of the words matter, such as a payment. Say the `word`; the other side enters it with your account and the purpose, and says three words that no other listener, device or purpose fits. Check them with `challenge_id`. It takes one try within 15 minutes, and a new one ends the open one of the same token and connection; 5 in 15 minutes are the most, for all tokens together. `purpose` is normalised: show what is answered, since "1.200" and "12.00" are both `1200`.',
    public:
      'For words of a person you are not connected to: those of connections and guests are checked here, all others are sent to the account server, which has public codes and stamps. Report that no one was found only if `conclusive` is true; words that were used before (`replayed`) and your own (`echo`) belong to an account and prove nothing. 20 look-ups a minute.',
  },
  stamp: {
    create:
      'Signs with the key of this device; the content stays here, the account server gets the signed digest alone. Give exactly one of `content`, `content_base64` and `sha256`. A stamp cannot be taken back.',
  },
  verificationLog: {
    list: 'Every check of words that this account made, public look-ups included, with its outcome, the person it found and the token of the request; the words themselves are not stored.',
  },
  apiTokens: {
    list: 'The tokens of this daemon, revoked and expired ones included; of a machine account, its own. No answer shows a token again.',
    create:
      'Mints a token as `POST /api/v1/token` does, but from afar: for a caller that holds a token of scope `full`. The token is shown once.',
    delete:
      'The next request with the token is refused. Its record stays in the list as revoked, and doing it again changes nothing.',
  },
  chat: {
    turn: 'The message goes to the account server and, where its operator has configured one, to an assistant, whose answer comes bit by bit as server-sent events. Without one, the handbook answers, as JSON.',
    rate: 'Sends the operator a rating of an answer; `turn_id` is the `X-Turn-Id` of the answer. Rating it again replaces the rating.',
  },
  feedback: {
    send: 'What is written goes to the operator of the account server, with the id of the account, and cannot be taken back.',
  },
}
