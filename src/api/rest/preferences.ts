import * as v from 'valibot'
import { named } from '../fields.ts'
import type { Routes } from '../route.ts'

const entries = {
  locale: v.pipe(
    v.string(),
    v.regex(
      /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/,
      'Expected a language tag, for example en or de-CH.',
    ),
    v.maxLength(35),
    v.description(
      'The language of mails from the account server. There is English and German; for another language, mails are English.',
    ),
  ),
  time_zone: v.pipe(
    v.string(),
    v.maxLength(64),
    v.regex(/^[\w+-]+(\/[\w+-]+)*$/, 'Expected a time zone, for example Europe/Zurich.'),
    v.description('The time zone of times in mails from the account server.'),
  ),
  public_code: v.pipe(
    v.boolean(),
    v.description('Whether others can look up the words of the public code at the account server.'),
  ),
  email_notifications: v.pipe(
    v.boolean(),
    v.description(
      'Whether invitations, alerts, requests at open links and given-up webhooks are also mailed.',
    ),
  ),
  findable_by_email: v.pipe(
    v.boolean(),
    v.description('Whether people who know one of your email addresses can follow you with it.'),
  ),
}

export const Preferences = named('Preferences', v.object(entries))
export type Preferences = v.InferOutput<typeof Preferences>

export const preferences = {
  read: {
    method: 'GET',
    path: '/api/v1/preferences',
    by: 'account',
    copied: true,
    reply: Preferences,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/preferences',
    by: 'both',
    errors: ['invalid_state', 'no_device'],
    body: v.partial(
      v.strictObject({
        ...entries,
        locale: v.pipe(
          v.nullable(entries.locale),
          v.description(
            'The language of mails from the account server: a language tag, such as en or de-CH. There is English and German; for another language, mails are English. null sets the default, en.',
          ),
        ),
        time_zone: v.pipe(
          v.nullable(entries.time_zone),
          v.description(
            'The time zone of times in mails, such as Europe/Zurich; null sets the default, UTC.',
          ),
        ),
      }),
    ),
    reply: Preferences,
  },
} as const satisfies Routes
