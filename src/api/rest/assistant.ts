import * as v from 'valibot'
import { Time, id, named, text } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The header fields with the ids of the conversation and of its turn, for answers of any type. */
export const CONVERSATION_HEADER = 'X-Conversation-Id'
export const TURN_HEADER = 'X-Turn-Id'

const Message = text(16_000)

export const chat = {
  turn: {
    method: 'POST',
    path: '/api/v1/chat',
    by: 'account',
    errors: ['not_found', 'backend_error', 'backend_timeout'],
    body: v.strictObject({
      message: v.pipe(Message, v.description('Your question or message.')),
      conversation_id: v.optional(
        v.pipe(
          v.nullable(id('cnv_')),
          v.description(
            'To continue a conversation: the `X-Conversation-Id` of an earlier answer.',
          ),
        ),
      ),
    }),
    media: ['text/event-stream', 'application/json'],
    repeats: true,
  },
  rate: {
    method: 'POST',
    path: '/api/v1/chat/rate',
    by: 'account',
    errors: ['not_found'],
    body: v.strictObject({
      turn_id: v.pipe(id('trn_'), v.description('`X-Turn-Id` of the answer.')),
      rating: v.pipe(v.picklist(['up', 'down']), v.description('Whether the answer was good.')),
      comment: v.optional(
        v.pipe(v.nullable(text(2000)), v.description('The reason for the rating.')),
      ),
    }),
    reply: named(
      'ChatRating',
      v.object({
        turn_id: id('trn_'),
        rating: v.picklist(['up', 'down']),
        comment: v.nullable(v.string()),
      }),
    ),
  },
} as const satisfies Routes

export const feedback = {
  send: {
    method: 'POST',
    path: '/api/v1/feedback',
    by: 'account',
    body: v.strictObject({
      message: v.pipe(Message, v.description('Your feedback.')),
      category: v.optional(
        v.pipe(
          v.nullable(v.picklist(['problem', 'idea', 'question', 'praise', 'other'])),
          v.description('The kind of feedback.'),
        ),
      ),
    }),
    reply: named(
      'Feedback',
      v.object({
        id: id('fdb_'),
        message: v.string(),
        category: v.nullable(v.string()),
        mailed: v.pipe(
          v.boolean(),
          v.description(
            'Whether the account server sends mail. false: the message is only in its database and its folder for mail. The embedded account server keeps both on this machine.',
          ),
        ),
        created_at: Time,
      }),
    ),
    status: 201,
  },
} as const satisfies Routes
